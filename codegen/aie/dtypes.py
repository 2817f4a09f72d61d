"""Element types of the NPU: what they are in MLIR, and their bytes in a memory."""

from __future__ import annotations

import numpy as np
from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.dtypes import BF16, BOOL, F16, F32, INDEX, DType, cast, encode

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
        return "i16" if dtype == F16 else "i8"
    other = {"i64": "i32", "u64": "u32", "f64": "f32", "tf32": "f32 or bf16"}.get(dtype.name)
    hint = other and f"make it {other}: where the program names its type by a const, by -D"
    raise error(
        "DSL0590",
        f"{what} of type {dtype}: an NPU has floats of up to 32 bits and integers of up to 32 bits",
        loc,
        hint=hint,
    )


def is_code(dtype: DType) -> bool:
    """Whether an element is held as its bits: a float without arithmetic, a smaller integer."""
    return dtype == F16 or dtype.is_low_bit or (dtype.is_float and dtype.bits == 8)


def code_of(value: float, dtype: DType) -> int:
    """The bits of a number as a float that is held so."""
    code = encode(cast(np.array([value], np.float32), F32, dtype), dtype)
    return int(code.view(f"u{code.dtype.itemsize}")[0])


def stored(dtype: DType, loc: Loc | None = None, what: str = "an element") -> str:
    """The type in memory: bools are bytes."""
    return "i8" if dtype == BOOL else element(dtype, loc, what)


def bytes_of(dtype: DType) -> int:
    """The bytes of an element in memory."""
    return max(1, dtype.bits // 8)
