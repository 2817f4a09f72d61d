"""The errors of transcendental functions, in units of the last place of the exact result.

References are in f64 for f32 and in the platform's long double for f64, where that has more bits.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.compiler.dtypes import F32, F64, DType
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import Capabilities, legalise
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.verifying import verify

WIDE = np.longdouble
MACHINE = Capabilities(f16_converts=True)
_LANES = 4_096  # of a function: what it has of memory has its bounds
_erf = np.vectorize(lambda v: WIDE(math.erf(float(v))), otypes=[WIDE])
FUNCTIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "exp": (np.exp, 1.1),
    "exp2": (np.exp2, 1.2),
    "log": (np.log, 0.9),
    "log2": (np.log2, 0.8),
    "sin": (np.sin, 1.6),
    "cos": (np.cos, 1.6),
    "tanh": (np.tanh, 1.4),
    "erf": (_erf, 1.8),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5),
    "pow": (np.power, 1.3),
}


@functools.cache
def legal(op: str, dtype: DType, lanes: int) -> Module:
    """The function f(x, y, out) over so many lanes."""
    b = Builder("f")
    x, y, out = b.pointer("x"), b.pointer("y"), b.pointer("out")
    type_ = VectorType(dtype, lanes)
    value = b.load(x, 0, type_)
    found = b.binary(op, value, b.load(y, 0, type_)) if op == "pow" else b.unary(op, value)
    b.store(out, 0, found)
    module = legalise(Module((b.function(),)), MACHINE)
    verify(module)
    return module


def inputs(dtype: DType, count: int, seed: int) -> Array:
    """Any bits, numbers around 0 of several sizes, and the edges."""
    numbers = np.random.default_rng(seed)
    kind = np.float32 if dtype == F32 else np.float64
    bits = numbers.integers(0, 256, count * kind(0).itemsize // 2, np.uint8).view(kind)
    sizes = numbers.choice([0.1, 1, 4, 20, 300, 1e5], count - len(bits))
    near = (numbers.standard_normal(count - len(bits)) * sizes).astype(kind)
    edges = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 2, -2, 3, -3, 1e-40, 1e30]
    return np.concatenate([np.array(edges, kind), bits, near])


def errors(have: Array, exact: Array, dtype: DType) -> Array:
    """In units of the last place; 0 where both are the same infinity, or NaN."""
    kind = have.dtype.type
    precision = dtype.mantissa + 1
    least = 3 - (1 << (dtype.exponent - 1))
    unit = np.ldexp(WIDE(1), np.maximum(np.frexp(np.abs(exact))[1], least) - precision)
    rounded = exact.astype(kind)
    same = (have == rounded) | (np.isnan(have) & np.isnan(rounded))
    error = np.abs(have.astype(WIDE) - exact) / unit
    return np.where(same & ~np.isfinite(have), 0, np.where(np.isfinite(error), error, np.inf))


def worst(op: str, dtype: DType, count: int, seed: int) -> float:
    function, _ = FUNCTIONS[op]
    x, y = inputs(dtype, count, seed), inputs(dtype, count, seed + 1)
    if op == "pow":
        half = len(x) // 2
        x[half:] = np.abs(x[half:])
        np.random.default_rng(seed).shuffle(y)
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        for own in np.array_split(np.arange(len(x)), -(-len(x) // _LANES)):
            some = out[own]
            interpret(legal(op, dtype, len(own)), "f", x[own], y[own], some)
            out[own] = some
        exact = (
            function(x.astype(WIDE), y.astype(WIDE)) if op == "pow" else function(x.astype(WIDE))
        )
        if op == "exp2" and not np.isfinite(exact).all():
            exact = np.where(np.isnan(x), WIDE(np.nan), exact)
        return float(errors(out, exact, dtype).max())


def test_the_stated_errors_are_those_of_the_page() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "compiler" / "vector.md"
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([\d.]+) \|", page.read_text("utf-8"), re.M)
    stated = {op: float(ulp) for names, ulp in rows for op in re.findall(r"\w+", names)}
    assert stated == {op: bound for op, (_, bound) in FUNCTIONS.items()}


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_errors_are_what_is_stated(op: str, dtype: DType) -> None:
    if dtype == F64 and (np.finfo(WIDE).nmant <= 52 or op == "erf"):
        bound = 2.5 + (np.finfo(WIDE).nmant <= 52)  # the reference errs too
    else:
        bound = FUNCTIONS[op][1]
    assert worst(op, dtype, 4_000, 7) <= bound


@pytest.mark.deep
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_errors_over_many_numbers(op: str, dtype: DType) -> None:
    if dtype == F64 and op == "erf":
        pytest.skip("the reference has 53 bits")
    for seed in range(10):
        assert worst(op, dtype, 100_000, seed) <= FUNCTIONS[op][1]


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_powers_of_special_numbers(dtype: DType) -> None:
    """Zeros, infinities, negative bases and NaN, with the signs of C (C17, F.10.4.4)."""
    kind = np.float32 if dtype == F32 else np.float64
    few = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan, 1e30], kind)
    x, y = (np.ascontiguousarray(a.reshape(-1)) for a in np.meshgrid(few, few))
    out = np.empty_like(x)
    interpret(legal("pow", dtype, len(x)), "f", x, y, out)
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    np.testing.assert_allclose(out, want, rtol=1e-6)
    known = ~np.isnan(want)
    assert (np.signbit(out) == np.signbit(want))[known].all()
    assert (out == want)[np.isin(want, [0, 1, -1, np.inf, -np.inf])].all()


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("op", ["sin", "tanh", "erf"])
def test_odd_functions_keep_the_sign_of_zero(op: str, dtype: DType) -> None:
    kind = np.float32 if dtype == F32 else np.float64
    x, out = np.array([0.0, -0.0], kind), np.ones(2, kind)
    interpret(legal(op, dtype, 2), "f", x, x, out)
    assert np.signbit(out).tolist() == [False, True]
    assert not out.any()


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("op", ["floordiv", "mod"])
def test_float_division_is_numpys(op: str, dtype: DType) -> None:
    """Bit for bit, whatever the quotient."""
    x, y = inputs(dtype, 3_000, 3), inputs(dtype, 3_000, 4)
    np.random.default_rng(5).shuffle(y)
    b = Builder("f")
    p, q, out = b.pointer("x"), b.pointer("y"), b.pointer("out")
    type_ = VectorType(dtype, len(x))
    b.store(out, 0, b.binary(op, b.load(p, 0, type_), b.load(q, 0, type_)))
    have = np.empty_like(x)
    with np.errstate(all="ignore"):
        interpret(legalise(Module((b.function(),)), MACHINE), "f", x, y, have)
        want = np.floor_divide(x, y) if op == "floordiv" else np.mod(x, y)
    wrong = ~(
        (have == want) & (np.signbit(have) == np.signbit(want)) | np.isnan(have) & np.isnan(want)
    )
    assert not wrong.any(), (x[wrong][:5], y[wrong][:5], have[wrong][:5], want[wrong][:5])
