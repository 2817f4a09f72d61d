"""Operations and casts on chunks in the emulator, against the interpreter; functions against NumPy."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.dtypes import all_dtypes, encode, storage_dtype

from support.aarch64 import needs_emulator

DTYPES = {d.name: d for d in all_dtypes()}
SIZES = (1, 3, 16, 37)  # single elements, whole chunks, both


@pytest.fixture(autouse=True)
def _emulator() -> None:
    needs_emulator()


def run(folder: Path, text: str, *args: Any, target: str) -> None:
    path = folder / "k.tile"
    path.write_text(text)
    dslc.compile(path, target=target, cache=False).k(*args)


def agree(
    folder: Path, text: str, inputs: list[Any], to: str, target: str = "aarch64:i8mm"
) -> None:
    outs = [np.zeros(len(inputs[0]), storage_dtype(DTYPES[to])) for _ in range(2)]
    run(folder, text, *inputs, outs[0], target="interp")
    run(folder, text, *inputs, outs[1], target=target)
    np.testing.assert_array_equal(outs[1], outs[0])


def values(name: str, count: int, seed: int = 0) -> Any:
    rng, dtype = np.random.default_rng(seed), DTYPES[name]
    if dtype.is_float:
        found = rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)
        return encode(found, dtype)
    low, high = dtype.integer_range
    return rng.integers(low, high, count, endpoint=True).astype(storage_dtype(dtype))


def kernel(params: str, body: str, to: str) -> str:
    return (
        f"kernel k({params}, y: out {to}[N]):\n    for n in parallel(range(0, N, 32)):\n"
        f"        y[n : n + 32] = {body}\n"
    )


BINARY = [
    ("f32", "{0} + {1}"), ("f16", "{0} * {1}"), ("bf16", "{0} - {1}"), ("f32", "{0} / {1}"),
    ("f32", "maximum({0}, {1})"), ("i32", "{0} * {1}"), ("i8", "{0} + {1}"), ("u8", "{0} - {1}"),
    ("i16", "minimum({0}, {1})"), ("i64", "maximum({0}, {1})"), ("u32", "{0} // {1}"),
    ("i32", "{0} % {1}"), ("i8", "{0} // {1}"), ("i32", "{0} >> 3"), ("u16", "{0} << 2"),
    ("i64", "{0} * {1}"), ("f64", "{0} * {1}"), ("i32", "where({0} < {1}, {0}, {1})"),
    ("f32", "where({0} >= {1}, {0}, {1})"), ("u8", "{0} ^ {1}"),
]  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("dtype", "body"), BINARY)
def test_binary(tmp_path: Path, dtype: str, body: str, size: int) -> None:
    text = kernel(
        f"a: {dtype}[N], b: {dtype}[N]", body.format("a[n : n + 32]", "b[n : n + 32]"), dtype
    )
    agree(tmp_path, text, [values(dtype, size, 1), values(dtype, size, 2)], dtype)


HALVES = [
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "maximum({0}, {1})", "minimum({0}, {1})",
    "where({0} < {1}, {0}, {1})", "-{0} * {1}", "abs({0}) + 0.1", "sqrt(abs({0}))", "floor({0})",
    "round({0} * 3) - {1}", "cast(cast({0}, f32) * cast({1}, f32), f16) + {0}",
]  # fmt: skip


@pytest.mark.parametrize("target", ["aarch64:base", "aarch64:dotprod"])
@pytest.mark.parametrize("body", HALVES)
def test_f16_is_computed_on_as_the_language_says(tmp_path: Path, body: str, target: str) -> None:
    """With and without instructions for it: each result is rounded to f16 once."""
    text = kernel("a: f16[N], b: f16[N]", body.format("a[n : n + 32]", "b[n : n + 32]"), "f16")
    agree(tmp_path, text, [values("f16", 300, 1), values("f16", 300, 2)], "f16", target)


def test_f16_arithmetic_needs_no_conversions_where_the_cpu_has_it(tmp_path: Path) -> None:
    path = tmp_path / "k.tile"
    path.write_text(kernel("a: f16[N], b: f16[N]", "a[n : n + 32] * b[n : n + 32] + 1", "f16"))
    texts = {
        t: dslc.compile(path, target=f"aarch64:{t}", cache=False).k.specialize().source("asm")
        for t in ("base", "dotprod")
    }
    assert "fcvtl" in texts["base"]
    assert "fcvt" not in texts["dotprod"]
    assert re.search(r"fmul v\d+\.8h", texts["dotprod"])


CASTS = [
    ("f32", "i8"), ("f32", "u8"), ("f32", "i32"), ("f32", "u32"), ("f32", "i16"), ("f32", "f16"),
    ("f32", "bf16"), ("f16", "f32"), ("bf16", "f16"), ("i8", "f32"), ("u8", "f16"), ("i32", "i8"),
    ("i16", "i64"), ("u8", "i32"), ("i32", "f32"), ("f64", "f32"), ("f32", "f64"), ("i32", "bool"),
    ("i64", "u8"), ("f32", "tf32"),
]  # fmt: skip


@pytest.mark.parametrize("target", ["aarch64:base", "aarch64:bf16"])
@pytest.mark.parametrize(("source", "to"), CASTS)
def test_casts(tmp_path: Path, source: str, to: str, target: str) -> None:
    text = kernel(f"a: {source}[N]", f"cast(a[n : n + 32], {to})", to)
    agree(tmp_path, text, [values(source, 37)], to, target)


@pytest.mark.parametrize(
    ("source", "to"), [("i32", "i8"), ("i32", "u8"), ("u32", "i16"), ("i16", "u8")]
)
def test_saturating_casts(tmp_path: Path, source: str, to: str) -> None:
    text = kernel(f"a: {source}[N]", f"cast(a[n : n + 32], {to}, saturate=True)", to)
    agree(tmp_path, text, [values(source, 37)], to)


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 88.7, 89.5, -87.5, -103.5, -120.0, 1e-40]
FUNCTIONS: dict[str, tuple[Any, float, float]] = {
    "exp": (np.exp, -90, 88), "exp2": (np.exp2, -126, 127), "log": (np.log, 1e-30, 1e30),
    "log2": (np.log2, 1e-30, 1e30), "sqrt": (np.sqrt, 0, 1e30), "tanh": (np.tanh, -9, 9),
    "sin": (np.sin, -100, 100), "cos": (np.cos, 1e-3, 1e38),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -80, 80),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(tmp_path: Path, name: str) -> None:
    function, low, high = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    if low > 0:
        x = np.exp(rng.uniform(np.log(low), np.log(high), 4000)).astype(np.float32)
    else:
        x = rng.uniform(low, high, 4000).astype(np.float32)
    y = np.zeros_like(x)
    run(tmp_path, kernel("a: f32[N]", f"{name}(a[n : n + 32])", "f32"), x, y, target="aarch64:i8mm")
    exact = function(x.astype(np.float64))
    # Sines near their zeros are as far off as the reduction of a large argument is.
    unit = np.spacing(
        np.maximum(np.abs(exact), 0.1 if name in ("sin", "cos") else 0).astype(np.float32)
    )
    assert (np.abs(y - exact) <= 5 * unit).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_at_the_ends(tmp_path: Path, name: str) -> None:
    x = np.array(SPECIAL, np.float32)
    y = np.zeros_like(x)
    run(tmp_path, kernel("a: f32[N]", f"{name}(a[n : n + 32])", "f32"), x, y, target="aarch64:i8mm")
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name][0](x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(y, exact, rtol=2e-6, atol=1e-44)


def test_erf(tmp_path: Path) -> None:
    import math

    x = np.linspace(-5, 5, 1001, dtype=np.float32)
    y = np.zeros_like(x)
    run(tmp_path, kernel("a: f32[N]", "erf(a[n : n + 32])", "f32"), x, y, target="aarch64:i8mm")
    exact = np.array([math.erf(float(v)) for v in x])
    assert np.abs(y - exact).max() < 5e-7


LONG: dict[str, tuple[Any, float, float]] = {
    "exp": (np.exp, -700, 700), "exp2": (np.exp2, -1000, 1000), "log": (np.log, 1e-300, 1e300),
    "log2": (np.log2, 1e-300, 1e300), "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-300, 1e300),
    "sqrt": (np.sqrt, 1e-300, 1e300), "tanh": (np.tanh, -20, 20),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -700, 700),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), -6, 6),
    "sin": (np.sin, -1e4, 1e4), "cos": (np.cos, 1e-9, 1e308),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_functions_of_f64(tmp_path: Path, name: str) -> None:
    """By the legalisation of Vector IR, with its errors; ends are those of NumPy."""
    function, low, high = LONG[name]
    rng = np.random.default_rng(5)
    x = rng.uniform(low, high, 1000)
    if low > 0:
        x = np.exp(rng.uniform(np.log(low), np.log(high), 1000))
    x[:9] = np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, -1.0, 1.0, 1e300
    y = np.zeros_like(x)
    run(tmp_path, kernel("a: f64[N]", f"{name}(a[n : n + 32])", "f64"), x, y, target="aarch64:base")
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.longdouble))
    np.testing.assert_array_equal(np.isnan(y), np.isnan(exact))
    near = np.isfinite(exact.astype(np.float64)) & np.isfinite(y)
    np.testing.assert_array_equal(y[~near], exact[~near].astype(np.float64))
    unit = np.spacing(np.abs(exact[near]).astype(np.float64))
    assert (np.abs(y[near] - exact[near]) <= 2 * unit).all()


def test_powers_of_f64(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    x, y = np.exp(rng.uniform(-50, 50, 1000)), rng.uniform(-12, 12, 1000)
    x[:6], y[:6] = (-2.0, -2.0, 0.0, 0.0, np.inf, -1.5), (3.0, 0.5, 0.0, -1.0, -2.0, 2.0)
    z = np.zeros_like(x)
    text = kernel("a: f64[N], b: f64[N]", "a[n : n + 32] ** b[n : n + 32]", "f64")
    run(tmp_path, text, x, y, z, target="aarch64:base")
    with np.errstate(all="ignore"):
        exact = x.astype(np.longdouble) ** y.astype(np.longdouble)
    np.testing.assert_array_equal(z[:6], exact[:6].astype(np.float64))
    unit = np.spacing(np.abs(exact[6:]).astype(np.float64))
    assert (np.abs(z[6:] - exact[6:]) <= 2 * unit).all()
