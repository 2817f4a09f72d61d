"""Buffers of a turn: in SBUF where they are taken by rows and fit, else in HBM; the same numbers."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest

RUNNING = """
kernel running(x: {t}[M, N], y: out {t}[M, N]):
    const BM = {rows}
    const BN = 64
    for m in parallel(range(0, M, BM)):
        b = buffer({t}, [BM, BN])
        for n in range(0, N, BN):
            b[:, :] = x[m : m + BM, n : n + BN]
            for i in range(1, BN):
                b[:, i : i + 1] = b[:, i : i + 1] + b[:, i - 1 : i]
            y[m : m + BM, n : n + BN] = b[:, :]
"""
HALVES = """
kernel halves(x: f32[M, N], y: out f32[M, N]):
    const BM = 128
    const BN = 64
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        b = buffer(f32, [BM, 2, BN])
        b[:, 0, :] = x[m : m + BM, n : n + BN]
        b[:, 1, :] = b[:, 0, :] * 2.0
        b[{low} : {low} + 32, 1, :] = b[{low} : {low} + 32, 0, :] * 3.0
        y[m : m + BM, n : n + BN] = b[:, 1, :]
"""
PART = """
kernel part(x: f32[M, N], first: i32[1], y: out f32[M, 32]):
    for m in parallel(range(0, M, 32)):
        b = buffer(f32, [32, 64])
        b[:, :] = x[m : m + 32, 0 : 64]
        at = first[0]
        y[m : m + 32, :] = b[:, {columns}]
"""
LARGE = """
kernel large(x: f32[M, N], y: out f32[M, N]):
    const BM = 128
    const BN = 256
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        b = buffer(f32, [BM, 256, BN])
        b[:, 7, :] = x[m : m + BM, n : n + BN]
        y[m : m + BM, n : n + BN] = b[:, 7, :]
"""


def library(source: str, target: str = "nki:trn2") -> Any:
    return dslc.compile(source=source, target=target, cache=False)


def is_on_chip(kernel: Any, **sizes: int) -> bool:
    return "buffer=nl.hbm" not in kernel.specialize(**sizes).source("nki")


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
@pytest.mark.parametrize("rows", [16, 128, 200])
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_a_buffer_that_is_taken_by_rows(dtype: str, rows: int, target: str) -> None:
    found = library(RUNNING.format(t=dtype, rows=rows), target)
    x = np.random.default_rng(0).integers(-9, 9, (250, 128))
    x = x.astype({"f32": np.float32, "i32": np.int32}[dtype])
    y = np.zeros_like(x)
    found.running(x, y)
    wanted = x.reshape(250, 2, 64).cumsum(2).reshape(250, 128)
    np.testing.assert_array_equal(y, wanted)
    assert is_on_chip(found.running, M=250, N=128)


@pytest.mark.parametrize(("low", "on_chip"), [(0, True), (64, True), (96, True), (40, False)])
def test_rows_from_where_an_instruction_can_begin(low: int, on_chip: bool) -> None:
    found = library(HALVES.format(low=low))
    x = np.random.default_rng(0).random((256, 64)).astype(np.float32)
    y = np.zeros_like(x)
    found.halves(x, y)
    wanted = 2 * x
    for m in (0, 128):
        wanted[m + low : m + low + 32] = 3 * x[m + low : m + low + 32]
    np.testing.assert_allclose(y, wanted, rtol=1e-6)
    assert is_on_chip(found.halves, M=256, N=64) == on_chip


@pytest.mark.parametrize("columns", ["0 : 64 : 2", "40 : 72", "at : at + 32"])
def test_columns_that_no_view_has(columns: str) -> None:
    """With a step, past the end, from where only the machine knows."""
    source = PART.format(columns=columns)
    x = np.random.default_rng(0).random((64, 64)).astype(np.float32)
    found = []
    for target in ("interp", "nki:trn2"):
        y = np.zeros((64, 32), np.float32)
        library(source, target).part(x, np.array([13], np.int32), y)
        found.append(y)
    np.testing.assert_array_equal(found[1], found[0])


def test_a_buffer_that_does_not_fit() -> None:
    found = library(LARGE)
    x = np.random.default_rng(0).random((128, 256)).astype(np.float32)
    y = np.zeros_like(x)
    found.large(x, y)
    np.testing.assert_array_equal(y, x)
    assert not is_on_chip(found.large, M=128, N=256)
