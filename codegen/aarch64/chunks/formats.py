"""How the elements of a tile stand in vector registers: the bits and the meaning of a lane.

Elements of a narrow float are computed on as f32, each rounded to its own type's grid; of an integer of
up to 8 bits in lanes of bytes. A bool is a mask: a lane of all ones or of zeros, as wide as what was
compared. Formats `f16` and `bf16` are those in memory, which some instructions take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.compiler.dtypes import DType, Kind

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


@dataclass(frozen=True, slots=True)
class Format:
    """A lane: its bits, and whether it holds a float, a signed or unsigned integer, or a mask."""

    bits: int
    kind: str  # f, i, u or m
    name: str

    @property
    def lanes(self) -> int:
        """How many lanes fill a register."""
        return 128 // self.bits

    @property
    def arrangement(self) -> str:
        """The suffix of a register in assembly: 4s, 16b, ..."""
        return f"{self.lanes}{ {8: 'b', 16: 'h', 32: 's', 64: 'd'}[self.bits] }"


F32 = Format(32, "f", "f32")
F64 = Format(64, "f", "f64")
F16 = Format(16, "f", "f16")
BF16 = Format(16, "f", "bf16")
SIGNED = {b: Format(b, "i", f"i{b}") for b in (8, 16, 32, 64)}
UNSIGNED = {b: Format(b, "u", f"u{b}") for b in (8, 16, 32, 64)}
MASKS = {b: Format(b, "m", f"m{b}") for b in (8, 16, 32, 64)}


def computed(dtype: DType) -> Format:
    """In which format elements of a dtype are computed on; a bool's as bytes in memory are 0 or 1."""
    if dtype.is_float:
        return F64 if dtype.bits == 64 else F32
    bits = next(b for b in (8, 16, 32, 64) if b >= dtype.bits)
    if dtype.kind is Kind.BOOL:
        return MASKS[8]
    return UNSIGNED[bits] if dtype.kind is Kind.UINT else SIGNED[bits]


def stored(dtype: DType) -> Format:
    """The format of elements in memory, a whole number of bytes each; small floats are their codes."""
    if dtype.is_float and dtype.bits <= 8:
        return UNSIGNED[8]
    if dtype.name == "f16":
        return F16
    if dtype.name == "bf16":
        return BF16
    if dtype.kind is Kind.BOOL:
        return UNSIGNED[8]
    return computed(dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """`count` elements in registers of one format; the last register may be part filled."""

    regs: tuple[Reg, ...]
    format: Format
    count: int


def select(e: Emission, mask: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """By lanes of masks as wide as the numbers."""
    text = "bsl {0}.16b, {1}.16b, {2}.16b"
    regs = tuple(
        e.s.accumulate(text, m, a, b) for m, a, b in zip(mask.regs, x.regs, y.regs, strict=True)
    )
    return Lanes(regs, x.format, x.count)
