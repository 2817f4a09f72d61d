"""What a block of operations takes: a core issues loads, a store, arithmetic, a product at once."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

from dslc.compiler.mlir import Type
from dslc.runtime.aie_simulator.machine import RATES
from dslc.runtime.aie_simulator.reader import Operation

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
        chunks = max(map(_chunks, (*op.types, *op.result_types)), default=0)
        if op.name == "vector.contract":
            self.product += _macs(op) / RATES.macs
        elif op.name.endswith((".load", ".transfer_read")):
            self.loads += max(1, chunks) / RATES.loads
        elif op.name.endswith((".store", ".transfer_write")):
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


@functools.lru_cache(1024)
def _chunks(kind: Type) -> int:
    """The registers of a vector; 0 for what is none."""
    if kind.kind != "vector":
        return 0
    width = int(kind.element.lstrip("bfiu") or 32)
    return math.ceil(kind.count * width / 8 / _CHUNK)


def _macs(op: Operation) -> int:
    (m, k), (_, n) = (op.types[number].shape for number in (0, 1))
    return m * n * k
