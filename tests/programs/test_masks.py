"""Masked accesses and slices with an end, on every machine, beside the same lines in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import MACHINES, call

M, N = 13, 75
RNG = np.random.default_rng(0)
X = RNG.standard_normal((M, N)).astype(np.float32)
Y = RNG.standard_normal((M, N)).astype(np.float32)
C = RNG.standard_normal(N).astype(np.float32)
LAST = RNG.integers(-3, N + 5, M).astype(np.int32)
CODES = RNG.integers(0, 16, (M, 80)).astype(np.uint8)
HEAD = """
    const BM = 8
    const BN = 32
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
"""
NEVER = np.float32(0)


def grid(params: str, *lines: str) -> str:
    return f"kernel k({params}):{HEAD}" + "".join(f"        {line}\n" for line in lines)


def kept(mask: Any, new: Any, old: Any = Y) -> Any:
    return np.where(mask, new, old)


ROWS, COLUMNS = np.arange(M)[:, None], np.arange(N)
Program = tuple[str, dict[str, Any], Any, Any]  # a source, its arguments, y before and after
PROGRAMS: dict[str, Callable[[], Program]] = {
    # A mask from what is stored, from a row of its own, from a column, from a scalar.
    "own values": lambda: (
        grid("x: f32[M, N], y: inout f32[M, N]",
             "v = x[m : m + BM, n : n + BN]",
             "store(y[m : m + BM, n : n + BN], v * 2.0, where=v > 0.0)"),
        {"x": X}, Y, kept(X > 0, X * 2)),
    "columns": lambda: (
        grid("x: f32[M, N], c: f32[N], y: inout f32[M, N]",
             "mask = c[n : n + BN] > 0.0",
             "store(y[m : m + BM, n : n + BN], x[m : m + BM, n : n + BN], where=mask)"),
        {"x": X, "c": C}, Y, kept(C > 0, X)),
    "rows of a scalar": lambda: (
        grid("last: i32[M], y: inout f32[M, N]",
             "mask = (last[m : m + BM] > 20)[:, None]",
             "store(y[m : m + BM, n : n + BN], 1.5, where=mask)"),
        {"last": LAST}, Y, kept(LAST[:, None] > 20, np.float32(1.5))),
    "one bool": lambda: (
        grid("x: f32[M, N], y: inout f32[M, N]",
             "store(y[m : m + BM, n : n + BN], x[m : m + BM, n : n + BN], where=m > 0)"),
        {"x": X}, Y, kept(ROWS >= 8, X)),
    "complements": lambda: (
        grid("x: f32[M, N], y: out f32[M, N]",
             "v = x[m : m + BM, n : n + BN]",
             "store(y[m : m + BM, n : n + BN], v, where=v > 0.0)",
             "store(y[m : m + BM, n : n + BN], -2.0 * v, where=not_(v > 0.0))"
             .replace("not_(v > 0.0)", "~(v > 0.0)")),
        {"x": X}, np.zeros_like(Y), np.where(X > 0, X, -2 * X)),
    # Loads, with a fill of their own, in steps, of bools and of low-bit codes.
    "masked load": lambda: (
        grid("x: f32[M, N], c: f32[N], y: out f32[M, N]",
             "mask = c[n : n + BN] > 0.0",
             "y[m : m + BM, n : n + BN] = "
             "load(x[m : m + BM, n : n + BN], where=mask, other=-1.0)"),
        {"x": X, "c": C}, Y, np.where(C > 0, X, np.float32(-1))),
    "masked load in place": lambda: (
        grid("y: inout f32[M, N]",
             "v = load(y[m : m + BM, n : n + BN], where=arange(BN) % 2 == 0)",
             "y[m : m + BM, n : n + BN] = v"),
        {}, Y, np.where(COLUMNS % 2 == 0, Y, NEVER)),
    "codes": lambda: (
        "kernel k(x: u4[M, 80], y: out i32[M, 80], a: i32):\n"
        "    for m in parallel(range(0, M, 8)):\n"
        "        w = x[m : min(m + 8, a), :]\n"
        "        y[m : m + 8, :] = cast(w, i32)\n",
        {"x": CODES, "a": 10}, np.zeros((M, 80), np.int32),
        np.where(np.arange(M)[:, None] < 10, CODES, 0)),
    # Ends: of rows from a tensor, in two axes, behind the start, in steps, beyond the tensor.
    "ragged": lambda: (
        "kernel k(x: f32[M, N], last: i32[M], y: inout f32[M, N]):\n"
        "    for m, n in parallel(range(M), range(0, N, 32)):\n"
        "        e = last[m]\n"
        "        y[m, n : min(n + 32, e)] = x[m, n : min(n + 32, e)] * 2.0\n",
        {"x": X, "last": LAST}, Y, kept(LAST[:, None] > COLUMNS, X * 2)),
    "two ends": lambda: (
        grid("x: f32[M, N], a: i32, b: i32, y: inout f32[M, N]",
             "v = load(x[m : min(m + BM, a - 1), n : n + BN], other=7.0)",
             "y[m : min(m + BM, a), n : min(n + BN, b)] = v"),
        {"x": X, "a": 10, "b": 70}, Y,
        kept((ROWS < 10) & (COLUMNS < 70), np.where(ROWS < 9, X, np.float32(7)))),
    "negative end": lambda: (
        grid("x: f32[M, N], a: i32, y: inout f32[M, N]",
             "y[m : min(m + BM, a), n : n + BN] = x[m : m + BM, n : n + BN]"),
        {"x": X, "a": -2}, Y, Y),
    "steps": lambda: (
        "kernel k(x: f32[M, N], a: i32, y: inout f32[M, N]):\n"
        "    for m in parallel(range(0, M, 4)):\n"
        "        y[m : m + 4, 1 : min(41, a) : 2] = x[m : m + 4, 0 : 20]\n",
        {"x": X, "a": 30}, Y,
        np.where((COLUMNS % 2 == 1) & (COLUMNS < 30), X[:, COLUMNS // 2], Y)),
    "end and mask": lambda: (
        grid("x: f32[M, N], a: i32, y: inout f32[M, N]",
             "v = x[m : m + BM, n : n + BN]",
             "store(y[m : min(m + BM, a), n : n + BN], v, where=v < 0.5)"),
        {"x": X, "a": 11}, Y, kept((ROWS < 11) & (X < 0.5), X)),
    "added": lambda: (
        grid("x: f32[M, N], a: i32, y: inout f32[M, N]",
             "y[m : min(m + BM, a), n : n + BN] += x[m : m + BM, n : n + BN]"),
        {"x": X, "a": 11}, Y, kept(ROWS < 11, X + Y)),
    "buffer": lambda: (
        "kernel k(x: f32[M, N], a: i32, y: out f32[M, N]):\n"
        "    for m in parallel(range(M)):\n"
        "        b = buffer(f32, [80])\n"
        "        b[:] = zeros(f32, [80])\n"
        "        b[0 : min(80, a)] = x[m, 0:80]\n"
        "        store(b[:], 5.0, where=arange(80) % 3 == 0)\n"
        "        y[m, 0:80] = b[:]\n",
        {"x": X, "a": 30}, Y,
        np.where(COLUMNS % 3 == 0, np.float32(5), np.where(COLUMNS < 30, X, NEVER))),
    # The operands of a product end within their tensors, as groups of rows do.
    "product": lambda: (
        "kernel k(x: f32[M, N], w: f32[N, 16], a: i32, b: i32, y: inout f32[M, 16]):\n"
        "    for m in parallel(range(0, M, 16)):\n"
        "        acc = zeros(f32, [16, 16])\n"
        "        for j in range(0, N, 16):\n"
        "            acc += dot(x[m : min(m + 16, a), j : min(j + 16, b)], w[j : j + 16, :])\n"
        "        y[m : min(m + 16, a), :] = acc\n",
        {"x": np.rint(X), "w": np.rint(X[:1].T * Y[0, :16]).astype(np.float32), "a": 9, "b": 41},
        Y[:, :16].copy(),
        np.where(ROWS < 9, np.rint(X)[:, :41] @ np.rint(X[:1].T * Y[0, :16])[:41], Y[:, :16])),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
@pytest.mark.sampled(3)
def test_what_is_left_by_masks_and_ends(target: str, name: str) -> None:
    source, args, before, wanted = PROGRAMS[name]()
    y = before.copy()
    call(target, source, {**args, "y": y})
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("target", ["interp", "cuda:sm_90a", "hip:gfx950", "aarch64:bf16", "cpu"])
@pytest.mark.sampled(3)
def test_of_rows_of_bits_the_masked_ones_stay(target: str) -> None:
    source = grid(
        "x: u8[M, N], y: inout u4[M, N] packed row",
        "v = x[m : m + BM, n : n + BN]",
        "store(y[m : m + BM, n : n + BN], cast(v, u4), where=v > 7)",
    )
    x, y = CODES[:, :N].copy(), (15 - CODES[:, :N]).copy()
    wanted = np.where(x > 7, x, y)
    call(target, source, {"x": x, "y": y})
    np.testing.assert_array_equal(y, wanted)


RACE = """
kernel k(y: inout f32[64]):
    for m in parallel(range(2)):
        v = load(y[0:64], where=arange(64) % 2 == m)
        store(y[0:64], v + 1.0, where=arange(64) % 2 == {})
"""


def test_turns_do_not_race_for_what_masks_keep_apart() -> None:
    y = np.zeros(64, np.float32)
    call("interp", RACE.format("m"), {"y": y})
    assert (y == 1).all()
    with pytest.raises(DiagnosticError, match="DSL0606"):
        call("interp", RACE.format("0"), {"y": y})


def test_a_mask_is_bool_and_fits() -> None:
    text = "kernel k(x: f32[8], y: inout f32[8]):\n    store(y[:], x[:], where={})\n"
    with pytest.raises(DiagnosticError, match=r"DSL0202.*a mask is bool"):
        dslc.compile(text.format("x[:]"), target="interp")["k"].specialize()
    with pytest.raises(DiagnosticError, match=r"DSL0223"):
        dslc.compile(text.format("arange(5) > 2"), target="interp")["k"].specialize()
    with pytest.raises(DiagnosticError, match=r"DSL0211"):
        dslc.compile(text.replace("inout", "").format("True"), target="interp")["k"].specialize()


def test_the_order_of_an_end_does_not_matter() -> None:
    y = np.zeros(8, np.float32)
    source = "kernel k(a: i32, y: inout f32[8]):\n    y[2 : min(min(a, 7), 6)] = 1.0\n"
    call("interp", source, {"a": 5, "y": y})
    assert y.tolist() == [0, 0, 1, 1, 1, 0, 0, 0]


DECORATED = """
from __future__ import annotations
import dslc
from dslc.lang import *

@dslc.kernel
def decorated(x: f32[N], a: i32, y: inout[f32[N]]):
    for n in parallel(range(0, N, 8)):
        v = load(x[n : min(n + 8, a)], other=-1.0)
        store(y[n : n + 8], v, where=v < 0.0)
"""


def test_decorated_functions_have_both() -> None:
    x, y = np.arange(-10, 10, dtype=np.float32), np.zeros(20, np.float32)
    names: dict[str, Any] = {}
    text = DECORATED
    exec(text, names)
    with dslc.options():
        names["decorated"](x, 15, y)
    assert y.tolist() == [*range(-10, 0), *[0] * 5, *[-1] * 5]


@pytest.mark.parametrize("dtype", ["u7", "i4", "u1", "u8", "f8e4m3"])
@pytest.mark.parametrize("target", ["interp", "aarch64:bf16", "cpu"])
def test_a_masked_load_of_codes_leaves_them_out(target: str, dtype: str) -> None:
    """Packed as they are: the load of their bytes knows no mask of elements."""
    source = f"""
kernel k(x: {dtype}[M, 6], w: bool[M, 6], y: out {dtype}[M, 6]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4, :] = load(x[m : m + 4, :], where=w[m : m + 4, :])
"""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (7, 6)).astype(np.int8 if dtype == "i4" else np.uint8)
    w, y = rng.integers(0, 2, (7, 6)).astype(bool), np.ones_like(x)
    call(target, source, {"x": x, "w": w, "y": y})
    np.testing.assert_array_equal(y, np.where(w, x, 0))
