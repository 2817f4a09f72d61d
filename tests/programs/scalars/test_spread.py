"""Scalars of dims and arguments in float arithmetic: with sums, carried numbers, tiles.

A scalar has one value, whatever number of lanes or threads computes it and whatever it was cast from.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import call

GPUS = ("cuda:sm_90a", "hip:gfx950")
ARM = ("aarch64:base", "aarch64:dotprod", "aarch64:i8mm", "aarch64:bf16")

_BY_DIM = """\
kernel by_dim(x: f32[M, N], n: {source}, y: out f32[M, 8, 64]):
    for m in parallel(range(M)):
        v = x[m, 0:64]
        count = cast({number}, {dtype})
        mean = sum(cast(v, {dtype})) / count
        carried = cast(1.0, {dtype})
        for i in range(3):
            carried = carried / count + mean
        y[m, 0, :] = cast(cast(v, {dtype}) / count, f32)
        y[m, 1, :] = v * cast(mean, f32)
        y[m, 2, :] = v * cast(carried, f32)
        y[m, 3, :] = cast(full({dtype}, [64], max(cast(v, {dtype})) - count), f32)
        y[m, 4, 0:61] = v[0:61] * cast(select({number} > 100, mean, count), f32)
        y[m, 5, :] = v + cast({number} > 100, f32) * cast(rounded({number}, {dtype}), f32)
        y[m, 6, :] = v * sigmoid(cast(mean, f32)) + exp(cast(mean, f32))
        y[m, 7, :] = v * rsqrt(cast(mean, f32) * cast(mean, f32) + 1.0)


def rounded(n, t):
    return floor(cast(n, t) / 2.0) + abs(-cast(n, t))
"""


def _source(dtype: str, source: str) -> str:
    kernel, function = _BY_DIM.split("\n\n\n")
    number = "N" if source == "index" else "n"
    text = f"{function.strip()}\n\n\n{kernel}\n"
    return text.format(dtype=dtype, source="i32" if source == "index" else source, number=number)


def _check(target: str, dtype: str, source: str) -> None:
    text = _source(dtype, source)
    x = np.random.default_rng(1).integers(-8, 9, (3, 77)).astype(np.float32) / 4
    wanted = np.zeros((3, 8, 64), np.float32)
    call("interp", text, {"x": x, "n": 77, "y": wanted})
    y = np.zeros_like(wanted)
    call(target, text, {"x": x, "n": 77, "y": y})
    near = {"f16": 2e-3, "bf16": 1e-2}.get(dtype, 2e-6)
    np.testing.assert_allclose(y, wanted, near, near)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
@pytest.mark.parametrize("target", ["cuda:sm_90a", "aarch64:base", "aarch64:bf16"])
def test_a_dim_meets_sums_and_tiles(target: str, dtype: str) -> None:
    _check(target, dtype, "index")


@pytest.mark.parametrize("source", ["i64", "u64", "u8", "f64"])
def test_arguments_of_other_widths(source: str) -> None:
    _check("aarch64:base", "f32", source)


@pytest.mark.deep
@pytest.mark.parametrize("source", ["index", "i64", "u64", "u8", "f64"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
@pytest.mark.parametrize("target", [*GPUS, *ARM])
def test_every_scalar_meets_sums_and_tiles(target: str, dtype: str, source: str) -> None:
    _check(target, dtype, source)
