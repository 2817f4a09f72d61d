"""Dtypes as C: which are arrays of their own type, which are packed into 32-bit words."""

from __future__ import annotations

from dslc.compiler.dtypes import DType, Kind

_SCALARS = {
    "f32": "float",
    "tf32": "float",
    "f64": "double",
    "i32": "int",
    "u32": "unsigned",
    "i64": "long long",
    "u64": "unsigned long long",
    "bool": "bool",
}
_MEMORY = {
    **_SCALARS,
    "f16": "unsigned short",
    "bf16": "unsigned short",
    "i16": "short",
    "u16": "unsigned short",
    "i8": "signed char",
    "bool": "unsigned char",
}


def is_packed(dtype: DType) -> bool:
    """Whether register tiles of this dtype are 32-bit words of packed elements."""
    return dtype.name not in _SCALARS


def element_type(dtype: DType) -> str:
    """The C type that one element is computed in: float for every narrower float."""
    if dtype.name in _SCALARS:
        return _SCALARS[dtype.name]
    if dtype.is_float:
        return "float"
    return "unsigned" if dtype.kind is Kind.UINT else "int"


def scalar_type(dtype: DType) -> str:
    """The C type of a scalar variable."""
    return "long long" if dtype.kind is Kind.INDEX else element_type(dtype)


def memory_type(dtype: DType) -> str:
    """The C type of an element in memory (`unsigned char` for codes of 8 bits and fewer)."""
    return _MEMORY.get(dtype.name, "unsigned char")


def memory_bits(dtype: DType) -> int:
    """The width of an element in memory: low-bit codes that are not packed take a byte."""
    return 8 if dtype.kind is Kind.BOOL else max(8, dtype.bits)


def words(dtype: DType, count: int) -> int:
    """How many C array elements hold `count` tile elements."""
    return -(-count * dtype.bits // 32) if is_packed(dtype) else count
