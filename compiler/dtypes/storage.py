"""How elements lie in NumPy arrays: as storage at a call, and as values in computation.

Storage is what a caller hands over: integers as their value, floats of at most 8 bits and e8m0 as bit
patterns in uint8, the others as the type of their name. Values are what the interpreter computes with.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.dtypes.dtype import DType, Kind, parse_dtype

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_ML_NAMES = {
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f8e3m4": "float8_e3m4",
    "f6e3m2": "float6_e3m2fn",
    "f6e2m3": "float6_e2m3fn",
    "f4e2m1": "float4_e2m1fn",
    "e8m0": "float8_e8m0fnu",
    "i1": "int1",
    "u1": "uint1",
    "i2": "int2",
    "u2": "uint2",
    "i4": "int4",
    "u4": "uint4",
}


@functools.cache
def to_ml_dtypes(dtype: DType) -> np.dtype[Any] | None:
    """The type of the ml_dtypes package with the same values, or None where it has none."""
    import ml_dtypes

    scalar_type = getattr(ml_dtypes, _ML_NAMES.get(dtype.name, ""), None)
    return None if scalar_type is None else np.dtype(scalar_type)


@functools.cache
def from_ml_dtypes(numpy_dtype: np.dtype[Any]) -> DType | None:
    """The dtype that a type of the ml_dtypes package is, or None."""
    for name, ml_name in _ML_NAMES.items():
        if numpy_dtype.name == ml_name:
            return parse_dtype(name)
    return None


@functools.cache
def storage_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of an array of this dtype at a call; bf16 is ml_dtypes.bfloat16."""
    if dtype.is_float and dtype.bits <= 8:
        return np.dtype(np.uint8)
    if dtype.name == "bf16":
        small = to_ml_dtypes(dtype)
        assert small is not None
        return small
    if dtype.name == "f16":
        return np.dtype(np.float16)
    return value_dtype(dtype)


@functools.cache
def value_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype in which elements are computed: it holds each of them exactly.

    float32 for floats of up to 32 bits, for integers the smallest of the same signedness.
    """
    if dtype.is_float:
        return np.dtype(np.float64 if dtype.bits == 64 else np.float32)
    if dtype.kind is Kind.BOOL:
        return np.dtype(np.bool_)
    letter = "u" if dtype.kind is Kind.UINT else "i"
    return np.dtype(f"{letter}{max(1, dtype.bits // 8)}")


def as_storage(array: Array, dtype: DType, *, writable: bool = False) -> Array | None:
    """A caller's array in storage_dtype(dtype), or None where its element type does not serve.

    The array itself or a view of it; integers of an ml_dtypes type are copied, so they do not serve
    where the array must be `writable`. Codes of integers below 8 bits may be int8 or uint8.
    """
    wanted = storage_dtype(dtype)
    if array.dtype == wanted:
        return array
    if from_ml_dtypes(array.dtype) == dtype:
        if dtype.is_float:
            return array.view(wanted)
        return None if writable else array.astype(wanted)
    if dtype.is_integer and dtype.is_low_bit and array.dtype in (np.int8, np.uint8):
        return array.view(wanted)
    return None


def first_invalid(codes: Array, dtype: DType) -> tuple[int, ...] | None:
    """The index of the first element of a storage array that is not of the dtype, or None.

    Only types of fewer than 8 bits can have one: their storage has room for more.
    """
    if not dtype.is_low_bit or codes.size == 0:
        return None
    least, greatest = (0, (1 << dtype.bits) - 1) if dtype.is_float else dtype.integer_range
    if least <= codes.min() and codes.max() <= greatest:
        return None
    invalid = (codes < least) | (codes > greatest)
    return tuple(int(i) for i in np.unravel_index(int(invalid.argmax()), codes.shape))
