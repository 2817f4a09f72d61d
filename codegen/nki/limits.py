"""What an instruction's tiles must keep to, proved while a kernel is written out.

A tile has at most 128 partitions; what a product writes lies in one bank of PSUM, of which there are
eight. A tile that begins at partition 32 or 96 has at most 32 partitions, one at 64 at most 64 (Neuron
architecture guides). Every tensor of a kernel is made under these rules, so that a text that breaks one
is never given out: the error names the tile and the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from dslc.compiler.diagnostics import error
from dslc.compiler.targets.nki import PARTITIONS, PSUM_BANK, PSUM_BANKS

_BYTES = {
    "float32": 4, "tfloat32": 4, "int32": 4, "uint32": 4, "float16": 2, "bfloat16": 2,
    "int16": 2, "uint16": 2, "int8": 1, "uint8": 1,
}  # fmt: skip


@dataclass(slots=True)
class Banks:
    """The banks of PSUM that are taken, by the tiles that have them."""

    taken: dict[str, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """How many are left."""
        return PSUM_BANKS - sum(self.taken.values())

    def take(self, name: str, count: int) -> None:
        """Banks of a tile until it is released; DSL0541 where there are not so many."""
        check_banks(name, count, self)
        self.taken[name] = count

    def release(self, name: str) -> None:
        """A tile has been read for the last time."""
        del self.taken[name]


def check_banks(name: str, count: int, banks: Banks) -> None:
    """DSL0541 where a tile needs more banks than are left."""
    if count > banks.free:
        others = ", ".join(f"{other} {n}" for other, n in banks.taken.items())
        raise error(
            "DSL0541",
            f"{name} needs {count} banks of PSUM, {banks.free} of {PSUM_BANKS} are left"
            + (f" ({others})" if others else ""),
        )


def check_tile(
    name: str, partitions: int | str, extents: Sequence[int | str], dtype: str, *, psum: bool
) -> None:
    """DSL0541 for more than 128 partitions, or a tile of PSUM that is more than a bank.

    An extent that only the emitted program computes is clipped to what is checked elsewhere.
    """
    if isinstance(partitions, int) and partitions > PARTITIONS:
        raise error(
            "DSL0541", f"{name} would have {partitions} partitions, a tile has {PARTITIONS} at most"
        )
    size = prod(int(n) for n in extents if str(n).isdigit()) * _BYTES[dtype.removeprefix("nl.")]
    if psum and size > PSUM_BANK:
        raise error(
            "DSL0541",
            f"{name} would have {size} bytes of each partition of PSUM, a bank has {PSUM_BANK}",
        )


def check_start(name: str, first: int, count: int) -> None:
    """DSL0541 for partitions that no instruction can begin at."""
    step = 32 if count <= 32 else 64 if count <= 64 else PARTITIONS
    if first % step or first + count > PARTITIONS:
        raise error(
            "DSL0541",
            f"{name} would be {count} partitions from {first} on; {count} begin at multiples of {step}",
        )
