"""Floats of at most 8 bits against their definition, in exact fractions."""

from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest
from dslc.compiler.dtypes import (
    DType,
    all_dtypes,
    decode,
    encode,
    has_infinity,
    has_nan,
    limits,
    round_to,
)

SMALL = [d for d in all_dtypes() if d.is_float and d.bits <= 8 and d.name != "e8m0"]


def value_of(code: int, dtype: DType) -> Fraction:
    """The number that a code without sign stands for, reserved codes read as if they were not."""
    exponent, fraction = divmod(code, 2**dtype.mantissa)
    bias = 2 ** (dtype.exponent - 1) - 1
    if exponent == 0:
        return Fraction(fraction, 2**dtype.mantissa) * Fraction(2) ** (1 - bias)
    return (1 + Fraction(fraction, 2**dtype.mantissa)) * Fraction(2) ** (exponent - bias)


def finite_codes(dtype: DType) -> int:
    """How many codes without sign are finite numbers."""
    reserved = {"f8e4m3": 1, "f8e5m2": 2**2, "f8e3m4": 2**4}.get(dtype.name, 0)
    return 2 ** (dtype.bits - 1) - reserved


def nearest(number: float, values: list[Fraction]) -> int:
    """The index of the nearest value, the even one of two; one past the end counts as a value."""
    x = abs(Fraction(number))
    extended = [*values, 2 * values[-1] - values[-2]]
    high = bisect_left(extended, x)
    if high in (0, len(extended)) or extended[high] == x:
        return min(high, len(values))
    below, above = x - extended[high - 1], extended[high] - x
    return high if above < below or (above == below and high % 2 == 0) else high - 1


def expected_code(number: float, dtype: DType, values: list[Fraction], saturate: bool) -> int:
    half, last = 2 ** (dtype.bits - 1), len(values) - 1
    if np.isnan(number):
        code = {"f8e4m3": 0x7F, "f8e5m2": 0x7E, "f8e3m4": 0x78}.get(dtype.name, last)
        return code | half if has_nan(dtype) and np.signbit(number) else code
    code = len(values) if np.isinf(number) else nearest(number, values)
    if code > last and (saturate or not has_nan(dtype)):
        code = last
    return code | half if np.signbit(number) else code


def numbers(dtype: DType) -> np.ndarray:
    """float64 numbers that are hard for the dtype: its values, halfway points and their neighbours."""
    count = finite_codes(dtype)
    values = np.array([float(value_of(c, dtype)) for c in range(count + 2)])
    hard = np.concatenate([values, (values[:-1] + values[1:]) / 2])
    single = hard.astype(np.float32)
    up, down = (np.nextafter(single, np.float32(to)) for to in (np.inf, -np.inf))
    double = [np.nextafter(hard, to) for to in (np.inf, -np.inf)]
    random = np.random.default_rng(count).standard_normal(200) * limits(dtype).greatest
    extreme = [np.inf, np.nan, 5e-324, 1e-45, 1e-300, 1e300, 3.4e38, 2.0**127]
    found = np.concatenate([hard, up, down, *double, random, random / 64, extreme])
    return np.concatenate([found, -found])


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_decode_is_the_definition(dtype: DType) -> None:
    half, count = 2 ** (dtype.bits - 1), finite_codes(dtype)
    found = decode(np.arange(2 * half, dtype=np.uint8), dtype)
    assert found.dtype == np.float32
    assert [Fraction(float(v)) for v in found[:count]] == [value_of(c, dtype) for c in range(count)]
    np.testing.assert_array_equal(found[half:], -found[:half])
    assert np.signbit(found[half])
    assert np.isinf(found[count]) if has_infinity(dtype) else True
    assert np.isnan(found[count + has_infinity(dtype) : half]).all()


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_encode_is_the_nearest_value_ties_to_even(dtype: DType, saturate: bool) -> None:
    values = [value_of(c, dtype) for c in range(finite_codes(dtype))]
    doubles = numbers(dtype)
    with np.errstate(over="ignore"):
        singles = doubles.astype(np.float32)
    for given in (doubles, singles):
        found = encode(given, dtype, saturate)
        assert found.dtype == np.uint8
        expected = [expected_code(float(x), dtype, values, saturate) for x in given]
        wrong = np.flatnonzero(found != expected)
        assert wrong.size == 0, [(given[i], found[i], expected[i]) for i in wrong[:5]]


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_round_to_is_decode_of_encode(dtype: DType) -> None:
    given = numbers(dtype)
    np.testing.assert_array_equal(round_to(given, dtype), decode(encode(given, dtype), dtype))


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_encode_inverts_decode(dtype: DType) -> None:
    codes = np.arange(2**dtype.bits, dtype=np.uint8)
    values = decode(codes, dtype)
    numeric = ~np.isnan(values)
    np.testing.assert_array_equal(encode(values, dtype)[numeric], codes[numeric])


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_limits_are_those_of_the_values(dtype: DType) -> None:
    count, found = finite_codes(dtype), limits(dtype)
    values = [float(value_of(c, dtype)) for c in range(count)]
    assert found.greatest == values[-1]
    assert found.least == -values[-1]
    assert found.smallest_normal == values[2**dtype.mantissa]
    assert found.smallest_subnormal == (values[1] if dtype.mantissa else None)


def test_bits_above_the_code_are_ignored() -> None:
    dtype = next(d for d in SMALL if d.name == "f6e3m2")
    codes = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(decode(codes, dtype), decode(codes & 63, dtype))
