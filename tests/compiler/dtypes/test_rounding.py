"""Wide floats, scales and integers; every format that ml_dtypes has, against it."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.dtypes import (
    BF16,
    E8M0,
    F16,
    F32,
    F64,
    TF32,
    DType,
    all_dtypes,
    decode,
    encode,
    has_infinity,
    has_nan,
    limits,
    parse_dtype,
    round_to,
    to_ml_dtypes,
    wrap,
)
from hypothesis import given
from hypothesis import strategies as st

SHARED = [d for d in all_dtypes() if d.is_float and to_ml_dtypes(d) is not None]
WIDE = [F16, BF16, TF32, F32]


def bits_of(array: np.ndarray) -> np.ndarray:
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[array.itemsize])


def all_halves() -> np.ndarray:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def random_singles(count: int) -> np.ndarray:
    bits = np.random.default_rng(7).integers(0, 1 << 32, count, dtype=np.uint32)
    return bits.view(np.float32)


@pytest.mark.parametrize("dtype", SHARED, ids=str)
def test_decode_equals_ml_dtypes_on_all_codes(dtype: DType) -> None:
    theirs = to_ml_dtypes(dtype)
    storage = np.uint16 if dtype.bits == 16 else np.uint8
    codes = np.arange(1 << dtype.bits).astype(storage).view(theirs)
    stored = codes if dtype.bits == 16 else codes.view(np.uint8)
    found, expected = decode(stored, dtype), codes.astype(np.float32)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", SHARED, ids=str)
def test_encode_equals_ml_dtypes(dtype: DType) -> None:
    grid = decode(encode(all_halves(), dtype), dtype)
    grid = np.unique(grid[np.isfinite(grid)])
    middles = (grid[:-1] + grid[1:]) / 2
    given = np.concatenate(
        [
            all_halves(),
            random_singles(1 << 18),
            middles,
            np.nextafter(middles, np.float32(np.inf)),
            np.nextafter(middles, np.float32(-np.inf)),
            (np.arange(1 << 16, dtype=np.uint32) << 7).view(np.float32),  # subnormals
        ]
    ).astype(np.float32)
    if not has_nan(dtype):
        given = given[~np.isnan(given)]
    if dtype == E8M0 and ml_dtypes.__version__ < "0.6":  # there ties went to even
        given = given[np.frexp(given)[0] != 0.75]
    with np.errstate(all="ignore"):
        expected = bits_of(given.astype(to_ml_dtypes(dtype)))
    found = bits_of(encode(given, dtype))
    wrong = np.flatnonzero(found != expected)
    assert wrong.size == 0, [(given[i], found[i], expected[i]) for i in wrong[:5]]


@pytest.mark.parametrize("dtype", SHARED, ids=str)
def test_limits_equal_ml_dtypes(dtype: DType) -> None:
    theirs, ours = ml_dtypes.finfo(to_ml_dtypes(dtype)), limits(dtype)
    assert ours.greatest == float(theirs.max)
    assert ours.least == float(theirs.min)
    if dtype != E8M0:
        assert ours.smallest_normal == float(theirs.smallest_normal)
        assert ours.smallest_subnormal == float(theirs.smallest_subnormal)


@pytest.mark.parametrize(("dtype", "theirs"), [(F16, np.float16), (F32, np.float32), (F64, float)])
def test_limits_equal_numpy(dtype: DType, theirs: type) -> None:
    expected, found = np.finfo(theirs), limits(dtype)
    assert found.greatest == float(expected.max)
    assert found.smallest_normal == float(expected.smallest_normal)
    assert found.smallest_subnormal == float(expected.smallest_subnormal)


def test_ties_of_scales_go_up() -> None:
    given = np.array([1.5, 3.0, 6.0, 0.75, 1.5 - 2**-23, 2.0**-127, 2.0**-127 + 2.0**-149])
    assert encode(given, E8M0).tolist() == [128, 129, 130, 127, 127, 0, 1]
    assert encode(given.astype(np.float32), E8M0).tolist() == [128, 129, 130, 127, 127, 0, 1]


def test_scale_saturates_to_its_ends() -> None:
    given = np.array([0.0, -0.0, 1e-45, 2.0**127, 3e38, np.inf, -1.0, np.nan, 1.5, -np.inf])
    found = encode(given, E8M0, saturate=True)
    assert found.tolist() == [0, 0, 0, 254, 254, 254, 255, 255, 128, 255]


def exact(number: float, dtype: DType) -> float:
    """A finite number rounded to nearest even in exact arithmetic, infinity past the range."""
    x, bias = Fraction(number), 2 ** (dtype.exponent - 1) - 1
    if x == 0:
        return number
    floor_log = abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
    if abs(x) < Fraction(2) ** floor_log:
        floor_log -= 1
    ulp = Fraction(2) ** (max(floor_log, 1 - bias) - dtype.mantissa)
    rounded = round(x / ulp) * ulp  # Python rounds a fraction to even
    if abs(rounded) > Fraction(limits(dtype).greatest):
        return float(np.copysign(np.inf, number))
    return float(np.copysign(float(rounded), number))


@given(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(WIDE), st.integers(-60, 60)
)
def test_wide_floats_are_rounded_once(number: float, dtype: DType, nudge: int) -> None:
    near = exact(number, dtype)
    with np.errstate(over="ignore"):
        ulp = float(np.spacing(np.float32(near))) if np.isfinite(near) else 0.0
    # Close to halfway points, where rounding in two steps goes wrong.
    candidates = [number, near + ulp * 2.0**nudge, (near + ulp / 2) * (1 + nudge * 2.0**-52)]
    finite = [c for c in candidates if np.isfinite(c)]
    found = round_to(np.array(finite), dtype)
    assert found.dtype == np.float32
    expected = np.array([exact(c, dtype) for c in finite])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_halfway_points_of_wide_floats(dtype: DType) -> None:
    drop = 2.0 ** -(dtype.mantissa + 1)
    tiny = limits(dtype).smallest_subnormal
    assert tiny is not None
    even, odd = 1.0, 1.0 + 2 * drop
    ties = [even + drop, odd + drop, tiny / 2, tiny * 1.5, limits(dtype).greatest * (1 + drop / 2)]
    above = [np.nextafter(t, np.inf) for t in ties]
    expected = [1.0, odd + 2 * drop, 0.0, tiny * 2]
    assert round_to(np.array(ties), dtype)[:4].tolist() == expected
    assert round_to(np.array(above), dtype)[:4].tolist() == [odd, odd + 2 * drop, tiny, tiny * 2]


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_infinities_nan_and_saturation_of_wide_floats(dtype: DType) -> None:
    greatest = limits(dtype).greatest
    given = np.array([np.inf, -np.inf, 1e300, -1e300, greatest, -np.nan, np.nan])
    plain, bounded = round_to(given, dtype), round_to(given, dtype, saturate=True)
    np.testing.assert_array_equal(plain[:5], [np.inf, -np.inf, np.inf, -np.inf, greatest])
    np.testing.assert_array_equal(bounded[:5], [greatest, -greatest, greatest, -greatest, greatest])
    assert np.isnan(plain[5:]).all()
    assert np.isnan(bounded[5:]).all()


def test_every_nan_stays_nan() -> None:
    nans = np.array([0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0xFF800001], np.uint32).view(np.float32)
    for dtype in all_dtypes():
        if has_nan(dtype):
            assert np.isnan(decode(encode(nans, dtype), dtype)).all(), dtype


@given(st.integers(-(2**70), 2**70), st.sampled_from([d for d in all_dtypes() if d.is_integer]))
def test_wrap_is_congruent_and_in_range(number: int, dtype: DType) -> None:
    given = np.array([number % 2**64], np.uint64)
    found = int(wrap(given, dtype)[0])
    least, greatest = dtype.integer_range
    assert least <= found <= greatest
    assert (found - number) % 2**dtype.bits == 0


@pytest.mark.parametrize("name", ["i4", "u4", "i1", "u7", "i8"])
def test_integer_codes_saturate_or_wrap(name: str) -> None:
    dtype = parse_dtype(name)
    assert dtype is not None
    least, greatest = dtype.integer_range
    given = np.array([least - 1, least, greatest, greatest + 1, -1000, 1000])
    assert encode(given, dtype, saturate=True).tolist() == [
        least,
        least,
        greatest,
        greatest,
        least,
        greatest,
    ]
    assert encode(given, dtype)[:4].tolist() == [greatest, least, greatest, least]


@pytest.mark.parametrize("name", ["f8e4m3", "bf16", "tf32", "f16", "u3", "e8m0", "i32"])
def test_shapes_and_scalars_are_kept(name: str) -> None:
    dtype = parse_dtype(name)
    assert dtype is not None
    for shape in ((), (0,), (2, 3), (1, 0, 4)):
        codes = encode(np.ones(shape, np.int64 if dtype.is_integer else np.float32), dtype)
        assert isinstance(codes, np.ndarray)
        assert codes.shape == decode(codes, dtype).shape == shape
    strided = np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::3]
    np.testing.assert_array_equal(round_to(strided, dtype), round_to(strided.copy(), dtype))


def test_infinity_has_a_code_where_ieee_says_so() -> None:
    with_infinity = {d.name for d in all_dtypes() if has_infinity(d)}
    assert with_infinity == {"f8e5m2", "f8e3m4", "f16", "bf16", "tf32", "f32", "f64"}
