import math

import ml_dtypes
import numpy as np
import pytest
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
