"""Several steps in one instruction: the numbers of the steps, and which engine has them."""

from __future__ import annotations

import re

import dslc
import ml_dtypes
import numpy as np
import pytest

TARGETS = ("nki:trn1", "nki:trn2", "nki:trn3")
RNG = np.random.default_rng(9)

ROWS = """
const T = f16

kernel softmax(x: T[M, N], y: out T[M, N]):
    for m in parallel(range(0, M, 4)):
        row = cast(x[m : m + 4, :], f32)
        e = exp(row - max(row, 1, keepdims=True))
        y[m : m + 4, :] = cast(e * (1 / sum(e, 1, keepdims=True)), T)

kernel norm(x: T[M, N], g: T[N], y: out T[M, N]):
    for m in parallel(range(0, M, 4)):
        row = cast(x[m : m + 4, :], f32)
        centred = row - sum(row, 1, keepdims=True) / N
        scale = rsqrt(sum(centred * centred, 1, keepdims=True) / N + 0.5)
        y[m : m + 4, :] = cast(centred * scale * cast(g[:], f32), T)

kernel gate(x: T[M, N], g: T[N], y: out T[M, N]):
    for m, n in parallel(range(0, M, 4), range(0, N, 16)):
        a, b = cast(x[m : m + 4, n : n + 16], f32), cast(g[n : n + 16], f32)
        y[m : m + 4, n : n + 16] = cast(a * sigmoid(a) * b - 0.25, T)

kernel affine(x: T[M, N], g: T[N], y: out T[M, N]):
    for m in parallel(range(0, M, 4)):
        row = cast(x[m : m + 4, :], f32)
        top = max(row, 1, keepdims=True)
        y[m : m + 4, :] = cast(tanh(top - (row * 2.0 + 1.0) * top), T)
"""


def wanted(name: str, x: np.ndarray, g: np.ndarray) -> np.ndarray:
    x, g = x.astype(np.float64), g.astype(np.float64)
    top = x.max(1, keepdims=True)
    if name == "softmax":
        e = np.exp(x - top)
        return e / e.sum(1, keepdims=True)
    if name == "norm":
        c = x - x.mean(1, keepdims=True)
        return c / np.sqrt((c * c).mean(1, keepdims=True) + 0.5) * g
    if name == "gate":
        return x / (1 + np.exp(-x)) * g - 0.25
    return np.tanh(top - (x * 2 + 1) * top)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["softmax", "norm", "gate", "affine"])
@pytest.mark.sampled(2)
def test_numbers(name: str, target: str, dtype: str) -> None:
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}[dtype]
    x, g = (RNG.standard_normal(shape).astype(kind) for shape in ((150, 64), (64,)))
    y = np.zeros_like(x)
    library = dslc.compile(source=ROWS, target=target, define={"T": dtype}, cache=False)
    given = (x, y) if name == "softmax" else (x, g, y)
    library[name](*given)
    near = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-5}[dtype]
    np.testing.assert_allclose(y.astype(np.float64), wanted(name, x, g), rtol=near, atol=near)


def source(name: str) -> str:
    library = dslc.compile(source=ROWS, target="nki:trn2", define={"T": "f16"}, cache=False)
    return str(library[name].specialize(M=256, N=512).source("nki"))


def test_an_exponential_and_its_sum_are_one_instruction_that_reads_halves() -> None:
    text = source("softmax")
    # Once in the loop, and once behind it for the last turn.
    assert text.count("op=nl.exp") == 2
    form = r"op=nl.exp, data=(\w+), bias=bias\w*, reduce_op=nl.add,\s+reduce_res="
    assert re.findall(form, text) == ["row", "row_1"]
    assert text.count("nisa.tensor_reduce(") == 2  # the maxima, ahead of it and in it
    assert "(256, 512), dtype=nl.float32" not in text


def test_a_column_and_a_tile_are_one_instruction_that_writes_halves() -> None:
    text = source("norm")
    assert "nisa.scalar_tensor_tensor(" in text or "nisa.engine.gpsimd" in text
    assert "op0=nl.add, operand0=0.5" in text or "bias=0.5" in text


def test_a_gate_is_a_function() -> None:
    text = source("gate")
    assert "op=nl.silu, data=" in text
    assert "nl.sigmoid" not in text


CHAINS = """
kernel linear(x: f16[M, N], g: f16[N], b: f32[N], y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        row = cast(x[m : m + 4, :], f32)
        mean = sum(row, 1, keepdims=True) / N
        centred = row - mean
        scale = rsqrt(sum(centred * centred, 1, keepdims=True) / N + 0.5)
        y[m : m + 4, :] = centred * scale * cast(g[:], f32) + b[:]

kernel differences(x: f16[M, N], g: f16[N], b: f32[N], y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        row = cast(x[m : m + 4, :], f32)
        top = max(row, 1, keepdims=True)
        y[m : m + 4, :] = b[:] - (cast(g[:], f32) - (top - row) * row)

kernel functions(x: f16[M, N], g: f16[N], b: f32[N], y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        row = cast(x[m : m + 4, :], f32)
        top = max(row, 1, keepdims=True)
        y[m : m + 4, :] = tanh(row * top) * 0.5 * cast(g[:], f32) * b[:]
"""


def result(name: str, x: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, g, b = (t.astype(np.float64) for t in (x, g, b))
    top = x.max(1, keepdims=True)
    if name == "linear":
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 0.5) * g + b
    if name == "differences":
        return b - (g - (top - x) * x)
    return np.tanh(x * top) * 0.5 * g * b


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["linear", "differences", "functions"])
@pytest.mark.parametrize("width", [130, 700])  # no whole blocks
@pytest.mark.sampled(2)
def test_numbers_of_chains(name: str, width: int, target: str) -> None:
    x, g = (RNG.standard_normal(shape).astype(np.float16) for shape in ((131, width), (width,)))
    b, y = RNG.standard_normal(width).astype(np.float32), np.zeros((131, width), np.float32)
    dslc.compile(source=CHAINS, target=target, cache=False)[name](x, g, b, y)
    np.testing.assert_allclose(y, result(name, x, g, b), rtol=2e-5, atol=2e-5)


def test_what_stands_between_two_engines_lies_in_a_bank_of_psum() -> None:
    library = dslc.compile(source=CHAINS, target="nki:trn2", cache=False)
    text = str(library["linear"].specialize(M=128, N=4096).source("nki"))
    banks = re.findall(r"nl.ndarray\(\(128, (\d+)\), dtype=nl.float32, buffer=nl.psum\)", text)
    assert banks
    assert all(int(n) <= 512 for n in banks)
    assert "nisa.bn_stats(" in text
    assert "(128, 4096), dtype=nl.float32, buffer=nl.sbuf" in text  # b and y
    older = dslc.compile(source=CHAINS, target="nki:trn1", cache=False)
    assert "nl.psum" not in str(older["linear"].specialize(M=128, N=4096).source("nki"))


def test_a_number_that_all_partitions_have_is_taken_off_fewer_rows() -> None:
    source = """
kernel centred(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(1)):
        t = x[0:M, 0:N]
        mean = sum(sum(t, 1, keepdims=True), 0, keepdims=True) / 1024.0
        y[0:M, 0:N] = exp(t - mean)
"""
    x = RNG.standard_normal((96, 160)).astype(np.float32)
    y = np.zeros_like(x)
    library = dslc.compile(
        source=source, target="nki:trn2", define={"M": 96, "N": 160}, cache=False
    )
    library["centred"](x, y)
    np.testing.assert_allclose(y, np.exp(x - x.sum() / 1024), rtol=1e-4)
