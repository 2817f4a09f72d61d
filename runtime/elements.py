"""Element types by name, as NumPy arrays hold them: the same convention as the compiler's.

ml_dtypes is imported only where an element is of a type that NumPy lacks.
"""

from __future__ import annotations

import functools
import re
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_INTEGER = re.compile(r"([iu])(1|2|3|4|5|6|7|8|16|32|64)\Z")
_SMALL_FLOAT = re.compile(r"f[3-8]e[1-7]m[0-6]\Z|e8m0\Z")
_NAMED = {
    "bool": np.bool_,
    "f16": np.float16,
    "f32": np.float32,
    "tf32": np.float32,
    "f64": np.float64,
    "index": np.int64,
}
_ML_NAMES = {
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f8e3m4": "float8_e3m4",
    "f6e3m2": "float6_e3m2fn",
    "f6e2m3": "float6_e2m3fn",
    "f4e2m1": "float4_e2m1fn",
    "e8m0": "float8_e8m0fnu",
}


@functools.cache
def storage_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of an array of that element type; KeyError where there is no such type.

    Floats of at most 8 bits and e8m0 are bit patterns in uint8, integers their values.
    """
    if name == "bf16":
        return extension_dtype(name)
    if match := _INTEGER.match(name):
        return np.dtype(f"{match[1]}{max(1, int(match[2]) // 8)}")
    return np.dtype(np.uint8 if _SMALL_FLOAT.match(name) else _NAMED[name])


_PLAIN = ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64")


def element_name(array: Array) -> str:
    """The element type that an array is of as it is, KeyError for one that is of none.

    uint8 is u8, whatever codes it holds.
    """
    by_name = {name: own for own, name in _ML_NAMES.items()}
    if array.dtype.name in by_name:
        return by_name[array.dtype.name]
    return next(n for n in _PLAIN if storage_dtype(n) == array.dtype)


@functools.cache
def extension_dtype(name: str) -> np.dtype[Any]:
    """The ml_dtypes type of bf16 and the floats of at most 8 bits that have one, else KeyError."""
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _ML_NAMES[name]))
    return dtype


def as_storage(array: Array, name: str, *, writable: bool = False) -> Array | None:
    """The array in storage_dtype(name); None where its element type does not serve.

    The array itself or a view; integers of an ml_dtypes type are copied, so they do not serve where
    the array must be `writable`. Codes of integers below 8 bits may be int8 or uint8.
    """
    wanted = storage_dtype(name)
    if array.dtype == wanted:
        return array
    if array.dtype.name == _ML_NAMES.get(name):
        return array.view(wanted)
    match = _INTEGER.match(name)
    if match is None or int(match[2]) >= 8:
        return None
    if array.dtype in (np.int8, np.uint8):
        return array.view(wanted)
    exact = f"{'u' if match[1] == 'u' else ''}int{match[2]}"  # int4, uint2, ...
    return array.astype(wanted) if array.dtype.name == exact and not writable else None


@functools.cache
def accepted_elements(name: str) -> frozenset[str]:
    """The element types, by NumPy's and ml_dtypes' names, of arrays that serve as they are."""
    stored = storage_dtype(name).name
    match = _INTEGER.match(name)
    if match is not None and int(match[2]) < 8:
        return frozenset({"int8", "uint8"})
    same = _ML_NAMES.get(name)
    # Libraries differ in how they store the types below 8 bits.
    whole = same is not None and name.startswith(("f8", "e8", "bf16"))
    return frozenset({stored, same}) if same and whole else frozenset({stored})


@functools.cache
def element_bytes(name: str) -> int:
    """The size of an array's element by the name of its type: 2 of `bfloat16`, 1 of `bool`."""
    bits = re.search(r"[0-9]+", name)
    return max(1, int(bits[0]) // 8) if bits else 1


def bytes_of(array: Array) -> Array:
    """The bytes from an array's first element to its last, those in between that are not its own too.

    Strides are those of the kernel, whole elements and none negative: the arguments were bound.
    """
    last = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    count = last // array.itemsize + 1 if array.size else 0
    return as_strided(array, (count,), (array.itemsize,)).view(np.uint8)
