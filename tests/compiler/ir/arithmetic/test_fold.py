"""Folding against NumPy, which computes as the interpreter does."""

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.dtypes import F16, F32, F64, I32, U8, parse_dtype
from dslc.compiler.dtypes.dtype import BF16
from dslc.compiler.ir.arithmetic.fold import fold_binary, fold_convert, fold_unary
from hypothesis import assume, given, settings
from hypothesis import strategies as st

FLOATS = {F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64}
INTEGERS = {
    parse_dtype(f"{s}{b}"): f"{n}int{b}"
    for s, n in (("i", ""), ("u", "u"))
    for b in (8, 16, 32, 64)
}
NUMPY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


@given(
    st.sampled_from(list(FLOATS)),
    st.sampled_from(list(NUMPY)),
    st.floats(allow_nan=False, width=32),
    st.floats(allow_nan=False, width=32),
)
@settings(max_examples=400)
def test_floats_round_once_as_numpy_does(dtype, op, x, y):
    kind = FLOATS[dtype]
    with np.errstate(all="ignore"):
        working = np.float64 if dtype == F64 else np.float32
        a, b = working(kind(x)), working(kind(y))
        wanted = kind(NUMPY[op](a, b))
    found = fold_binary(op, x, y, dtype)
    assume(found is not None)
    # Compared as f64: ml_dtypes' arrays of NaN are not equal to NumPy.
    np.testing.assert_array_equal(float(kind(found)), float(wanted))
    assert float(found) == float(wanted) or np.isnan(float(wanted))


@given(
    st.sampled_from(list(INTEGERS)),
    st.sampled_from(["add", "sub", "mul", "floordiv", "mod"]),
    st.data(),
)
@settings(max_examples=400)
def test_integers_wrap_as_numpy_does(dtype, op, data):
    low, high = dtype.integer_range
    x, y = (data.draw(st.integers(low, high)) for _ in range(2))
    assume(y != 0 or op not in ("floordiv", "mod"))
    kind = np.dtype(INTEGERS[dtype]).type
    function = {**NUMPY, "floordiv": np.floor_divide, "mod": np.remainder}[op]
    with np.errstate(all="ignore"):
        assert fold_binary(op, x, y, dtype) == int(function(kind(x), kind(y)))


@given(st.sampled_from([F16, BF16, F32]), st.floats(width=32, allow_nan=False))
def test_a_cast_to_a_float_rounds_to_nearest_even(dtype, x):
    with np.errstate(all="ignore"):
        assert fold_convert(x, F64, dtype) == float(FLOATS[dtype](np.float32(x)))


@pytest.mark.parametrize(
    ("op", "x", "dtype", "wanted"),
    [
        ("neg", -(2**31), I32, -(2**31)),
        ("abs", -5, I32, 5),
        ("invert", 1, U8, 254),
        ("round", 2.5, F32, 2.0),
        ("round", 3.5, F32, 4.0),
        ("floor", -1.5, F32, -2.0),
        ("ceil", -0.5, F32, -0.0),
        ("sqrt", 2.0, F16, float(np.float16(np.sqrt(np.float32(2.0))))),
        ("sqrt", -1.0, F32, None),
        ("exp", 1.0, F32, None),
    ],
)
def test_unary(op, x, dtype, wanted):
    found = fold_unary(op, x, dtype)
    assert (found, str(found)) == (wanted, str(wanted))


@pytest.mark.parametrize(
    ("op", "y"), [("floordiv", 0), ("mod", 0), ("shl", 32), ("shr", 32), ("pow", -1)]
)
def test_what_is_unspecified_is_not_folded(op, y):
    assert fold_binary(op, 3, y, I32) is None
