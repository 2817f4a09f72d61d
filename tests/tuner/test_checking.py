"""When two results are the same."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.dtypes import parse_dtype
from dslc.tuner.checking import difference

RNG = np.random.default_rng(0)


def of(name: str):  # type: ignore[no-untyped-def]
    dtype = parse_dtype(name)
    assert dtype is not None
    return dtype


def test_rounding_is_no_difference() -> None:
    x = RNG.standard_normal((300, 300)).astype(np.float32)
    rounded = x.astype(np.float16).astype(np.float32)
    assert difference(x, rounded, of("f32")) is None
    ints = RNG.integers(-100, 100, 1000).astype(np.int8)
    assert difference(ints, ints + np.int8(1), of("i8")) is None


@pytest.mark.parametrize("size", [1000, 5_000_000])
def test_one_wrong_element_at_an_end_is_found(size: int) -> None:
    x = RNG.standard_normal(size).astype(np.float16)
    for at in (0, -1):
        y = x.copy()
        y[at] += np.float16(0.5)
        found = difference(x, y, of("f16"))
        assert found is not None
        assert found.startswith("1 of")


def test_a_wrong_column_of_a_large_result_is_found() -> None:
    x = RNG.standard_normal((2000, 2000)).astype(np.float32)
    y = x.copy()
    y[:, 1000] = 0
    assert difference(x, y, of("f32")) is not None


def test_what_is_not_written_is_found() -> None:
    x = RNG.standard_normal(100).astype(np.float16)
    y = x.copy()
    y.view(np.uint8)[:] = 0xFF
    found = difference(x, y, of("f16"))
    assert found is not None
    assert "finite in one" in found
    both = np.full(10, np.inf, np.float16)
    assert difference(both, both, of("f16")) is None


def test_integers_and_bools() -> None:
    x = RNG.integers(0, 1000, 100).astype(np.int32)
    assert difference(x, x + 100, of("i32")) is not None
    flags = x > 500
    assert difference(flags, flags, of("bool")) is None
    assert difference(flags, ~flags, of("bool")) == "100 of 100 differ"
