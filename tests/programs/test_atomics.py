"""Turns that add to the elements of a tensor, of every type, on every machine that has it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.machines import call

SOURCE = """
kernel k(x: {d}[N], y: inout {d}[8], old: out {d}[N]):
    for n in parallel(range(0, N, 4)):
        y[1:5] += x[n : n + 4]
        y[0:1] -= x[n : n + 1]
        old[n : n + 4] = x[n : n + 4]
"""


EVERY = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
WITH_64 = ("interp", "cuda:sm_90a", "hip:gfx950", "cpu", "aarch64:base")
TABLE = [(target, d) for target in WITH_64 for d in EVERY]
TABLE += [("nki:trn2", d) for d in EVERY[:6]]


@pytest.mark.parametrize(("target", "dtype"), TABLE)
def test_integers_wrap_at_their_width(target: str, dtype: str) -> None:
    """Their neighbours in a word stay as they are."""
    kind = np.dtype(f"{dtype[0]}{int(dtype[1:]) // 8}")
    ends = np.iinfo(kind)
    rng = np.random.default_rng(1)
    x = rng.integers(ends.min, ends.max, 12, kind, endpoint=True)
    y = rng.integers(ends.min, ends.max, 8, kind, endpoint=True)
    wanted = y.copy()
    with np.errstate(over="ignore"):
        wanted[1:5] += x.reshape(3, 4).sum(0, dtype=kind)
        wanted[0] -= x[::4].sum(dtype=kind)
    old = np.zeros_like(x)
    call(target, SOURCE.format(d=dtype), {"x": x, "y": y, "old": old})
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(old, x)


ENDS = """
kernel k(x: {d}[N], y: inout {d}[N]):
    for n in parallel(range(0, N, 4)):
        y[n : n + 4] += x[n : n + 4]
        y[0:1] += x[n : n + 1]
"""


@pytest.mark.parametrize("dtype", ["i8", "u16", "f16"])
@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx950"])
def test_arrays_that_end_within_a_word(target: str, dtype: str) -> None:
    """An element shares its word with bytes that no array of the call has."""
    kind = np.dtype(f"{dtype[0]}{int(dtype[1:]) // 8}")
    x, y = np.arange(1, 8).astype(kind), np.full(7, 9, kind)
    call(target, ENDS.format(d=dtype), {"x": x, "y": y})
    assert y.tolist() == [16, 11, 12, 13, 14, 15, 16]


TAKEN = """
kernel k(x: {d}[N], y: inout {d}[7], old: out {d}[N]):
    for n in range(0, N, 4):
        old[n : n + 4] = atomic_add(y[4:8], x[n : n + 4])
"""


@pytest.mark.parametrize("dtype", ["i8", "u16", "f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("target", ["interp", "cpu", "aarch64:base"])
def test_what_stood_there_before_and_rounding(target: str, dtype: str) -> None:
    """A turn's tile ends past the tensor: there nothing is added, and 0 stood."""
    named = {"i8": np.int8, "u16": np.uint16, "bf16": ml_dtypes.bfloat16}
    kind: Any = named.get(dtype) or np.dtype(dtype.replace("f", "float"))
    x, y = (np.arange(8) * 37 % 50 + 100).astype(kind), np.arange(7).astype(kind)
    wanted, taken = y.copy(), np.zeros(8, kind)
    for n in (0, 4):
        taken[n : n + 3] = wanted[4:]
        with np.errstate(over="ignore"):
            wanted[4:] += x[n : n + 3]
    old = np.ones(8, kind)
    call(target, TAKEN.format(d=dtype), {"x": x, "y": y, "old": old})
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(old, taken)
