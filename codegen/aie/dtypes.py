"""Element types of the NPU: what they are in MLIR, and their bytes in a memory."""

from __future__ import annotations

from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.dtypes import BF16, BOOL, F32, INDEX, DType

_FLOATS = {BF16: "bf16", F32: "f32"}
_BITS = (8, 16, 32)
WORD = 4  # bytes: what a DMA counts in


def element(dtype: DType, loc: Loc | None = None, what: str = "an element") -> str:
    """The type in a vector or register; DSL0590 where the machine has none."""
    if dtype in _FLOATS:
        return _FLOATS[dtype]
    if dtype == BOOL:
        return "i1"
    if dtype == INDEX:
        return "index"
    if dtype.is_integer and dtype.bits in _BITS:
        return f"i{dtype.bits}"
    if is_code(dtype):
        return "i8"
    hint = "-D T=bf16" if dtype.is_float else None
    raise error(
        "DSL0590",
        f"{what} of type {dtype}: an NPU computes in bf16, f32 and integers of up to 32 bits",
        loc, hint=hint,
    )  # fmt: skip


def is_code(dtype: DType) -> bool:
    """Whether an element is a code in a byte: a small float, or the value of a smaller integer."""
    return dtype.is_low_bit or (dtype.is_float and dtype.bits == 8)


def stored(dtype: DType, loc: Loc | None = None, what: str = "an element") -> str:
    """The type in memory: bools are bytes."""
    return "i8" if dtype == BOOL else element(dtype, loc, what)


def bytes_of(dtype: DType) -> int:
    """The bytes of an element in memory."""
    return max(1, dtype.bits // 8)
