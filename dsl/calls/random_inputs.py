"""Random arrays that fit a dtype, for runs and measurements without data."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.dtypes import DType, Kind, encode, limits, storage_dtype

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_DRAWN = (1 << 20) + 7  # numbers that a large array repeats: no power of two, so that tiles differ


def random_array(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Random elements in the storage convention of a call.

    Floats are normal with deviation 1 (small floats within their range), e8m0 scales lie between 1/8
    and 8, integers of up to 8 bits take every value, wider ones those from 0 to 99, bools both.
    """
    if dtype.kind is Kind.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind is Kind.SCALE:
        return rng.integers(124, 131, shape).astype(np.uint8)
    if dtype.is_float:
        values = rng.standard_normal(shape)
        bound = float(limits(dtype).greatest)
        return encode(np.clip(values, -bound, bound), dtype)
    least, greatest = dtype.integer_range if dtype.bits <= 8 else (0, 99)
    return rng.integers(least, greatest + 1, shape).astype(storage_dtype(dtype))


def repeated_array(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The same for large arrays: about a million numbers, over and over, quick to make."""
    count = int(np.prod(shape, dtype=np.int64))
    return np.resize(random_array(dtype, (min(count, _DRAWN),), rng), shape)
