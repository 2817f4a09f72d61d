"""Turns that take parts of their blocks: whole rows pass, parts are written in place, right numbers."""

from __future__ import annotations

import re

import dslc
import numpy as np
import pytest

HEADS = """
const T = f32

kernel halves(x: inout T[S, Q], w: f32[S, D]):
    for s, h in parallel(range(0, S, 4), range(0, Q, D)):
        half = D // 2
        c, d = w[s : s + 4, 0:half], w[s : s + 4, half:D]
        a = cast(x[s : s + 4, h : h + half], f32)
        b = cast(x[s : s + 4, h + half : h + D], f32)
        x[s : s + 4, h : h + half] = cast(a * c - b * d, T)
        x[s : s + 4, h + half : h + D] = cast(b * c + a * d, T)

kernel pairs(x: inout T[S, Q], w: f32[S, D]):
    for s, h in parallel(range(0, S, 4), range(0, Q, D)):
        half = D // 2
        a = cast(x[s : s + 4, h : h + D : 2], f32)
        b = cast(x[s : s + 4, h + 1 : h + D : 2], f32)
        n = rsqrt(sum(a * a + b * b, 1, keepdims=True) + 1.0)
        x[s : s + 4, h : h + D : 2] = cast(a * n - w[s : s + 4, 0:half], T)
        x[s : s + 4, h + 1 : h + D : 2] = cast(b * n, T)

kernel columns(x: T[N], y: out T[N]):
    for n in parallel(range(0, N, 8)):
        a, b = x[n : n + 2], x[n + 2 : n + 8]
        y[n : n + 2] = a + a
        y[n + 2 : n + 8] = b * sum(a, 0, keepdims=True)
"""
RNG = np.random.default_rng(4)


def wanted(name: str, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    x, w = x.astype(np.float64), w.astype(np.float64)
    if name == "columns":
        y = x.reshape(-1, 8).copy()
        y[:, 2:] *= y[:, :2].sum(1, keepdims=True)
        y[:, :2] *= 2
        return y.reshape(-1)
    rows, size, half = len(x), w.shape[1], w.shape[1] // 2
    y = x.reshape(rows, -1, size).copy()
    c, d = w[:, None, :half], w[:, None, half:]
    if name == "halves":
        a, b = y[..., :half].copy(), y[..., half:].copy()
        y[..., :half], y[..., half:] = a * c - b * d, b * c + a * d
    else:
        a, b = y[..., ::2].copy(), y[..., 1::2].copy()
        n = 1 / np.sqrt((a * a + b * b).sum(-1, keepdims=True) + 1)
        y[..., ::2], y[..., 1::2] = a * n - c, b * n
    return y.reshape(rows, -1)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", ["halves", "pairs"])
@pytest.mark.sampled(2)
def test_numbers_of_heads(name: str, dtype: str, target: str) -> None:
    x = RNG.standard_normal((21, 96)).astype({"f32": np.float32, "f16": np.float16}[dtype])
    w = RNG.standard_normal((21, 12)).astype(np.float32)
    y = x.copy()
    dslc.compile(source=HEADS, target=target, define={"T": dtype}, cache=False)[name](y, w)
    near = {"f32": 1e-5, "f16": 4e-3}[dtype]
    np.testing.assert_allclose(y.astype(np.float64), wanted(name, x, w), rtol=near, atol=near)


@pytest.mark.parametrize("size", [8, 64, 8 * 131])
def test_numbers_of_a_vector(size: int) -> None:
    x, y = RNG.standard_normal(size).astype(np.float32), np.zeros(size, np.float32)
    dslc.compile(source=HEADS, target="nki:trn2", cache=False)["columns"](x, y)
    np.testing.assert_allclose(y, wanted("columns", x, x[None]), rtol=1e-5)


@pytest.mark.parametrize(("name", "copied"), [("halves", ["t_1"]), ("pairs", [])])
def test_rows_pass_whole_and_results_stand_where_they_are_stored_from(
    name: str, copied: list[str]
) -> None:
    library = dslc.compile(source=HEADS, target="nki:trn2", cache=False)
    text = library[name].specialize(S=128, Q=2048, D=128).source()
    assert len(re.findall(r"dma_copy\(dst=x_out", text)) == 1
    assert "for h in range(0, 2048, 1024)" in text  # rows of 4 KiB
    # The parts are made in the row; what is copied are rows of angles, to PSUM.
    assert re.findall(r"tensor_copy\(dst=\w+, src=(\w+)\[0:128, 0:64\]", text) == copied
    assert text.count("tensor_copy") == len(copied)


def test_a_tensor_that_is_read_first_is_not_copied() -> None:
    source = """
kernel shift(x: inout f32[M, N]):
    for m in parallel(range(0, M, 4)):
        x[m : m + 4, :] = x[m : m + 4, :] + 1.0

kernel twice(x: inout f32[M, N]):
    for m in parallel(range(0, M, 4)):
        x[m : m + 4, :] = x[m : m + 4, :] + 1.0
        x[m : m + 4, :] = x[m : m + 4, :] * 2.0

kernel some(x: inout f32[M, N]):
    for m in parallel(range(0, M, 4)):
        x[m : m + 2, :] = x[m : m + 2, :] + 1.0
"""
    library = dslc.compile(source=source, target="nki:trn2", cache=False)
    x = RNG.standard_normal((8, 16)).astype(np.float32)
    rows = np.arange(8)[:, None] % 4 < 2
    for name, expected in (
        ("shift", x + 1),
        ("twice", (x + 1) * 2),
        ("some", np.where(rows, x + 1, x)),
    ):
        text = library[name].specialize(M=8, N=16).source()
        assert ("dma_copy(dst=x_out, src=x)" in text) == (name != "shift"), name
        y = x.copy()
        library[name](y)
        np.testing.assert_allclose(y, expected, rtol=1e-6)
