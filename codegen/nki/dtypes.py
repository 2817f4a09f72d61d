"""How the types of the language are stored on a NeuronCore."""

from __future__ import annotations

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind, encode

_NAMES = {
    "f32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16",
    "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
}  # fmt: skip


def element(dtype: DType) -> str:
    """The element's type in `nl`: floats of at most 8 bits and bools are codes of uint8.

    Integers of fewer than 8 bits are held as their value. DSL0590 for 64 bits.
    """
    if dtype.kind is Kind.INDEX or dtype.bits > 32:
        raise error(
            "DSL0590",
            f"a NeuronCore has no elements of {dtype}",
            hint="use a type of at most 32 bits",
        )
    if dtype.kind is Kind.BOOL or (dtype.is_float and dtype.bits <= 8):
        return "nl.uint8"
    if dtype.bits < 8:
        return "nl.int8" if dtype.is_signed else "nl.uint8"
    return f"nl.{_NAMES[dtype.name]}"


def item_bytes(dtype: DType) -> int:
    """Bytes of an element in on-chip memory."""
    return 1 if dtype.kind is Kind.BOOL else max(1, dtype.bits // 8)


def is_code(dtype: DType) -> bool:
    """Whether the elements are bit patterns that must be decoded before arithmetic."""
    return dtype.is_float and dtype.bits <= 8


def code_text(value: float, dtype: DType) -> str:
    """A number as the code by which tiles of a small float hold it."""
    return str(int(encode(np.array(value, np.float64), dtype).view(np.uint8)))
