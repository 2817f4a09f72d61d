"""Data types by their NKI names, and the machine's conversions: everything goes through float32."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FLOATS = frozenset(
    ("float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2", "float8_e4m3fn")
)
WIDE = frozenset(("float32", "tfloat32"))
FP8 = frozenset(("float8_e4m3", "float8_e5m2", "float8_e4m3fn"))
HALF = frozenset(("bfloat16", "float16"))
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
_EXTENSION = ("bfloat16", "float8_e4m3", "float8_e5m2", "float8_e4m3fn")


@cache
def array_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype that holds an NKI dtype; KeyError where there is none of that name."""
    if name in ("float32", "tfloat32"):
        return np.dtype(np.float32)
    if name in ("float16", *_INTEGERS):
        return np.dtype(name)
    if name in ("bool", "bool_"):
        return np.dtype(np.uint8)
    if name in _EXTENSION:
        import ml_dtypes

        held: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return held
    raise KeyError(name)


def dtype_name(found: Any) -> str:
    """The NKI name of a dtype given as such a name or as NumPy's; KeyError where there is none."""
    name = found if isinstance(found, str) else np.dtype(found).name
    name = {"bool": "uint8", "bool_": "uint8"}.get(name, name)
    array_dtype(name)
    return name


def to_f32(values: Array) -> Array:
    """As float32; a view where that is what they are."""
    return values if values.dtype == np.float32 else values.astype(np.float32)


def from_f32(values: Array, name: str) -> Array:
    """Rounded to the nearest, ties to even; integers saturate, NaN is 0, tfloat32 keeps 10 bits."""
    if name == "float32":
        return values
    if name == "tfloat32":
        bits = np.ascontiguousarray(values).view(np.uint32)
        kept = (bits + 0x0FFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)
        return np.where(np.isfinite(values), kept.view(np.float32), values)
    dtype = array_dtype(name)
    if name in FLOATS:
        with np.errstate(over="ignore"):
            return values.astype(dtype)
    info = np.iinfo(dtype)
    whole = np.nan_to_num(
        np.rint(values.astype(np.float64)), nan=0.0, posinf=info.max, neginf=info.min
    )
    held: Array = np.clip(whole, info.min, info.max).astype(dtype)
    return held


def convert(values: Array, source: str, target: str) -> Array:
    """From one data type to another; the same type is copied bit by bit."""
    return values if source == target else from_f32(to_f32(values), target)
