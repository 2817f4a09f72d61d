import math

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.dtypes import parse_dtype, round_to
from dslc.runtime.scalars import as_dtype
from hypothesis import given
from hypothesis import strategies as st

FLOATS = (
    st.floats(allow_nan=False) | st.floats(width=32, allow_nan=False) | st.integers(-(2**70), 2**70)
)


@given(FLOATS)
def test_f16_and_f32_round_as_numpy(x):
    with np.errstate(over="ignore"):
        assert as_dtype(x, "f32") == np.float32(x)
        assert as_dtype(x, "f16") == np.float16(x)


@given(FLOATS)
def test_bf16_is_the_nearest_of_its_numbers(x):
    found = as_dtype(x, "bf16")
    if not math.isfinite(found):
        assert abs(x) >= 3.3953138e38  # halfway past the greatest
        return
    assert float(ml_dtypes.bfloat16(found)) == found
    word = np.array(found, ml_dtypes.bfloat16).view(np.uint16).item()
    for step in (-1, 1):
        if 0 <= (word & 0x7FFF) + step < 0x7F80:
            other = float(np.array(word + step, np.uint16).view(ml_dtypes.bfloat16))
            assert abs(found - x) <= abs(other - x)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (1 + 2**-8, 1.0),
        (1 + 3 * 2**-8, 1 + 2**-6),
        (1 + 2**-8 + 2**-40, 1 + 2**-7),
        (-(1 + 2**-8 + 2**-40), -(1 + 2**-7)),
        (1 + 2**-8 - 2**-40, 1.0),
        (0.0, 0.0),
        (1e300, math.inf),
    ],
)
def test_bf16_rounds_once(x, expected):
    assert as_dtype(x, "bf16") == expected


def test_tf32_keeps_ten_bits():
    assert as_dtype(1 + 2**-10, "tf32") == 1 + 2**-10
    assert as_dtype(1 + 2**-11, "tf32") == 1.0
    assert as_dtype(1 + 3 * 2**-11, "tf32") == 1 + 2**-9


@pytest.mark.parametrize("dtype", ["f16", "f32", "bf16", "tf32", "f64"])
def test_nan_stays(dtype):
    assert math.isnan(as_dtype(math.nan, dtype))


def test_integers_and_doubles_stay():
    assert as_dtype(1 << 60, "i64") == 1 << 60
    assert as_dtype(0.1, "f64") == 0.1
    assert as_dtype(True, "bool") is True


SMALL = [f"f{n}e{x}m{n - 1 - x}" for n in range(3, 9) for x in range(1, n)]


@pytest.mark.parametrize("dtype", [*SMALL, "e8m0"])
def test_small_floats_round_as_a_cast_does(dtype: str) -> None:
    rng = np.random.default_rng(1)
    near = np.ldexp(rng.integers(-64, 65, 400) / 32.0, rng.integers(-9, 9, 400))
    edges = [
        0.0,
        -0.0,
        0.1,
        -0.3,
        448.0,
        464.0,
        465.0,
        57344.0,
        61440.0,
        -1e30,
        math.inf,
        -math.inf,
    ]
    tiny = [
        math.nan,
        1e-45,
        2.0**-127,
        1.2 * 2.0**-127,
        2.0**-128,
        1.5 * 2.0**127,
        3.0,
        2.9,
        1e-300,
    ]
    values = np.concatenate([near, edges, tiny])
    with np.errstate(all="ignore"):
        wanted = round_to(values, parse_dtype(dtype)).astype(np.float64)
    found = [as_dtype(float(v), dtype) for v in values]
    np.testing.assert_array_equal(found, wanted)
    same = np.isnan(wanted) | (np.signbit(found) == np.signbit(wanted))
    assert same.all(), values[~same]
