"""Random arguments of a call, and the outputs that a correct kernel gives.

Outputs start as NaN (or -1), so that an element that was not written is seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from near import Array, Near

Dims = dict[str, int]
Rng = np.random.Generator

NUMPY: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


@dataclass(frozen=True)
class Problem:
    """The arguments of one call, by name in the kernel's order, and the expected outputs."""

    args: dict[str, Any]
    expected: dict[str, Near]


def normal(rng: Rng, shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Array:
    """Standard normal numbers times `scale`, as arrays of an element type."""
    return (rng.standard_normal(shape) * scale).astype(NUMPY[dtype])


def blank(shape: tuple[int, ...], dtype: str) -> Array:
    """An output before the call."""
    return np.full(shape, np.nan, NUMPY[dtype])


def values_of(dtype: str) -> tuple[Array, Array]:
    """Every code of a low-bit type as a caller gives it, and its value (NaN for no number)."""
    bits = int(dtype[1])
    if dtype[0] == "f":
        every = np.arange(1 << bits, dtype=np.uint8)
        return every, np.array([float_value(int(code), dtype) for code in every])
    low = -(1 << (bits - 1)) if dtype[0] == "i" else 0
    every = np.arange(low, low + (1 << bits)).astype(np.int8 if dtype[0] == "i" else np.uint8)
    return every, every.astype(np.float64)


def codes(rng: Rng, shape: tuple[int, ...], dtype: str) -> tuple[Array, Array]:
    """Random finite codes of a low-bit type, and their values."""
    every, values = values_of(dtype)
    chosen = rng.choice(np.flatnonzero(np.isfinite(values)), shape)
    return every[chosen], values[chosen]


def float_value(code: int, dtype: str) -> float:
    """What a code of fNeXmY means, NaN for the codes of infinities and NaN."""
    found = re.fullmatch(r"f(\d)e(\d)m(\d)", dtype)
    assert found, dtype
    bits, exponent_bits, mantissa_bits = map(int, found.groups())
    sign = -1.0 if code >> (bits - 1) else 1.0
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = code & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    last = exponent == (1 << exponent_bits) - 1
    if last and (dtype in ("f8e5m2", "f8e3m4") or (dtype == "f8e4m3" and mantissa == 7)):
        return np.nan
    fraction = mantissa / (1 << mantissa_bits)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)
