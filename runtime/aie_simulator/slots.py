"""What a block of operations takes: a core issues loads, a store, arithmetic, a product at once."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from dslc.runtime.aie_simulator.machine import RATES
from dslc.runtime.aie_simulator.reader import Operation

_VECTOR = re.compile(r"vector<([\dx]+)x([a-z]+)(\d*)>")
_SPECIAL = ("arith.divf", "arith.divui", "arith.remui", "arith.floordivsi")
_FREE = ("arith.constant", "vector.shape_cast", "arith.extf", "arith.index_cast", "memref.view")
_CHUNK = 64  # bytes of a register


@dataclass(slots=True)
class Slots:
    """The use of each issue slot in a block, as if it were scheduled without a gap."""

    loads: float = 0.0
    stores: float = 0.0
    vector: float = 0.0
    product: float = 0.0
    scalar: float = 0.0
    stalls: float = field(default=0.0)

    def count(self, op: Operation) -> None:
        """One operation."""
        if op.name in _FREE:
            return
        chunks = _chunks(op.rest)
        if op.name == "vector.contract":
            self.product += _macs(op.rest) / RATES.macs
        elif op.name.endswith(".load"):
            self.loads += max(1, chunks) / RATES.loads
        elif op.name.endswith(".store"):
            self.stores += max(1, chunks) / RATES.stores
        elif op.name in _SPECIAL or (op.name.startswith("math.") and op.name != "math.fma"):
            self.vector += RATES.special * max(1, chunks)
        elif chunks:
            self.vector += chunks / RATES.vector
        else:
            self.scalar += 0.5

    def cycles(self) -> int:
        """The fullest slot."""
        return math.ceil(max(self.loads, self.stores, self.vector, self.product, self.scalar))


def _chunks(text: str) -> int:
    """The registers of the widest vector among an operation's types."""
    most = 0
    for shape, _, bits in _VECTOR.findall(text):
        count = math.prod(int(n) for n in shape.split("x"))
        width = int(bits or 32)
        most = max(most, math.ceil(count * width / 8 / _CHUNK))
    return most


def _macs(text: str) -> int:
    (m, k), (_, n) = (
        [int(x) for x in shape.split("x")] for shape, _, _ in _VECTOR.findall(text)[:2]
    )
    return m * n * k
