"""`cast` between every two dtypes, one element at a time in exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dslc.compiler.dtypes import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I32,
    I64,
    INDEX,
    TF32,
    U8,
    DType,
    all_dtypes,
    cast,
    decode,
    limits,
    parse_dtype,
    round_to,
    value_dtype,
)
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = [*all_dtypes(), INDEX]
INTEGERS = [d for d in DTYPES if d.is_integer]


def dtype(name: str) -> DType:
    found = parse_dtype(name)
    assert found is not None
    return found


def samples(src: DType) -> np.ndarray:
    """Values of `src`: all of a narrow type, the ends and some between of a wide one."""
    rng = np.random.default_rng(src.bits)
    if src == BOOL:
        return np.array([False, True])
    if src.is_float and src.bits <= 8:
        return decode(np.arange(1 << src.bits, dtype=np.uint8), src)
    if src.is_float:
        spread = rng.standard_normal(60) * np.exp2(rng.integers(-20, 70, 60))
        special = [0.0, -0.0, 0.5, 1.5, 2.5, -0.75, 127.5, 128, 255.9, np.inf, np.nan, 2.0**31]
        whole = [2.0**63, 2.0**64, -(2.0**63), 2.0**31 - 1, limits(src).greatest]
        return round_to(np.array([*spread, *special, *whole, *(-x for x in special)]), src)
    least, greatest = src.integer_range
    if src.bits <= 8:
        return np.arange(least, greatest + 1).astype(value_dtype(src))
    near = [least, greatest, 0, 1, greatest - 1, 2**15, greatest // 2 + 1, greatest // 3]
    near = [x for x in near if x <= greatest]
    random = rng.integers(least, greatest, 60, value_dtype(src), endpoint=True)
    return np.array([*near, *(int(x) for x in random)], value_dtype(src))


def to_integer(x: float, dst: DType, saturate: bool) -> int:
    least, greatest = dst.integer_range
    if isinstance(x, float) and not math.isfinite(x):
        return 0 if math.isnan(x) else (greatest if x > 0 else least)
    whole = int(x)
    if saturate or isinstance(x, float):
        return min(max(whole, least), greatest)
    return (whole - least) % 2**dst.bits + least


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("dst", [*INTEGERS, BOOL], ids=str)
def test_cast_to_integers(dst: DType, saturate: bool) -> None:
    for src in DTYPES:
        given = samples(src)
        found = cast(given, src, dst, saturate)
        assert found.dtype == value_dtype(dst)
        if dst == BOOL:
            expected = [x != 0 for x in given.tolist()]
        else:
            expected = [to_integer(x, dst, saturate) for x in given.tolist()]
        assert found.tolist() == expected, src


@pytest.mark.parametrize("dst", [d for d in DTYPES if d.is_float], ids=str)
def test_cast_to_floats_is_rounding_of_the_number(dst: DType) -> None:
    for src in DTYPES:
        given = samples(src)
        found = cast(given, src, dst)
        assert found.dtype == value_dtype(dst)
        if src.bits < 64:  # exact in float64; the wider ones have a test of their own
            np.testing.assert_array_equal(found, round_to(given.astype(np.float64), dst))


@pytest.mark.parametrize("dst", [d for d in DTYPES if d.is_float], ids=str)
def test_saturating_cast_stays_finite(dst: DType) -> None:
    for src in DTYPES:
        given = samples(src)
        found, plain = cast(given, src, dst, saturate=True), cast(given, src, dst)
        number = ~np.isnan(found)
        assert (np.abs(found[number]) <= limits(dst).greatest).all(), src
        inside = np.isfinite(plain)
        np.testing.assert_array_equal(found[inside], plain[inside])


def rounded(number: int, precision: int) -> int:
    """An integer to nearest even at that many binary digits."""
    ulp = 2 ** max(abs(number).bit_length() - precision, 0)
    return round(Fraction(number, ulp)) * ulp


@given(st.integers(-(2**63), 2**64 - 1), st.integers(0, 63), st.integers(-2, 2))
@settings(max_examples=300)
def test_wide_integers_are_rounded_once(number: int, shift: int, nudge: int) -> None:
    near = (number >> shift << shift) + nudge
    for src in (I64, INDEX, dtype("u64"), I32, dtype("u32")):
        least, greatest = src.integer_range
        for x in (number, near):
            if not least <= x <= greatest:
                continue
            given = np.array([x], value_dtype(src))
            for dst in (BF16, TF32, F32, F64):
                assert int(cast(given, src, dst)[0]) == rounded(x, dst.mantissa + 1)
            half = cast(given, src, F16)[0]
            assert half == (
                rounded(x, 11) if abs(rounded(x, 11)) < 65520 else math.copysign(math.inf, x)
            )


def test_bits_between_a_tie_and_its_neighbour_count() -> None:
    # 2^62 + half a bf16 step + 1: as a double the last bit is lost, and the tie would go down.
    given = np.array([2**62 + 2**54 + 1, 2**62 + 2**54, -(2**62) - 2**54 - 1])
    assert cast(given, I64, BF16).tolist() == [2.0**62 + 2.0**55, 2.0**62, -(2.0**62) - 2.0**55]


def test_rules_by_example() -> None:
    floats = np.array([-1.9, 1.9, 300.0, -300.0, np.nan, np.inf], np.float32)
    assert cast(floats, F32, U8).tolist() == [0, 1, 255, 0, 0, 255]
    assert cast(floats, F32, dtype("i4")).tolist() == [-1, 1, 7, -8, 0, 7]
    assert cast(np.array([300, -1]), I64, U8).tolist() == [44, 255]
    assert cast(np.array([300, -1]), I64, U8, saturate=True).tolist() == [255, 0]
    assert cast(np.array([True, False]), BOOL, dtype("i1")).tolist() == [-1, 0]
    assert cast(np.array([1e6], np.float32), F32, dtype("f8e5m2")).tolist() == [np.inf]
    assert cast(np.array([1e6], np.float32), F32, dtype("f8e5m2"), saturate=True).tolist() == [
        57344
    ]
    assert cast(np.array([np.nan, np.inf, -np.inf]), F64, dtype("f6e3m2")).tolist() == [28, 28, -28]
    assert cast(np.array([0.0, np.nan]), F64, BOOL).tolist() == [False, True]
