"""Products with a scale a group: widths, zero points, blocked loops, extremes, K of any length."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.dtypes import parse_dtype

from support.aarch64 import needs_emulator

SOURCE = """
const G = 32
kernel symmetric(a: i8[M, K], w: W[K, N], s: f32[K // G, N], c: out f32[M, N]):
    tune BM = 16
    require K % G == 0
    for m, n in parallel(range(0, M, BM), range(0, N, 32)):
        acc = zeros(f32, [BM, 32])
        for k in range(0, K, G):
            part = dot(a[m : m + BM, k : k + G], cast(w[k : k + G, n : n + 32], i8) - ZERO)
            acc += cast(part, f32) * s[k // G, n : n + 32]
        c[m : m + BM, n : n + 32] = acc

kernel asymmetric(
    a: i8[M, K], w: W[K, N], s: f32[K // G, N], z: u8[K // G, N], c: out f32[M, N]
):
    tune BM = 16
    require K % G == 0
    for m, n in parallel(range(0, M, BM), range(0, N, 32)):
        acc = zeros(f32, [BM, 32])
        for k in range(0, K, G):
            b = cast(w[k : k + G, n : n + 32], i8) - cast(z[k // G, n : n + 32], i8)
            acc += cast(dot(a[m : m + BM, k : k + G], b), f32) * s[k // G, n : n + 32]
        c[m : m + BM, n : n + 32] = acc
"""


@pytest.fixture(autouse=True)
def _emulator() -> None:
    needs_emulator()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("groups")


@functools.cache
def library(folder: Path, target: str, width: str, group: int) -> Any:
    path = folder / f"{width}.tile"
    low, high = parse_dtype(width).integer_range  # type: ignore[union-attr]
    path.write_text(SOURCE.replace("W[", f"{width}[").replace("ZERO", str((low + high + 1) // 2)))
    return dslc.compile(path, target=target, define={"G": group}, cache=False)


def check(c: Any, a: Any, w: Any, zero: Any, s: Any) -> None:
    """Against exact sums: float parts within 1e-6 of the sum of magnitudes."""
    groups, n = s.shape
    less = w.reshape(groups, -1, n).astype(np.float64) - np.asarray(zero, np.float64)
    parts = a.reshape(len(a), groups, -1).transpose(1, 0, 2).astype(np.float64) @ less
    exact = (parts * s[:, None, :].astype(np.float64)).sum(0)
    bound = 1e-6 * (np.abs(parts) * s[:, None, :]).sum(0)
    assert (np.abs(c - exact) <= bound + 1e-30).all()


def posed(width: str, rows: int, k: int, n: int, group: int, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    low, high = parse_dtype(width).integer_range  # type: ignore[union-attr]
    a = rng.integers(-128, 127, (rows, k), endpoint=True).astype(np.int8)
    w = rng.integers(low, high, (k, n), endpoint=True).astype(np.int8 if low else np.uint8)
    return a, w, rng.uniform(0.5, 2, (k // group, n)).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("width", ["u2", "u3", "u4", "u5", "u6", "i4", "i8"])
@pytest.mark.parametrize("target", ["aarch64:dotprod", "aarch64:i8mm"])
@pytest.mark.sampled(5)
def test_every_width(folder: Path, target: str, width: str, rows: int) -> None:
    a, w, s = posed(width, rows, 96, 40, 32, 1)
    c = np.zeros((rows, 40), np.float32)
    library(folder, target, width, 32).symmetric(a, w, s, c)
    low, high = parse_dtype(width).integer_range  # type: ignore[union-attr]
    check(c, a, w, (low + high + 1) // 2, s)


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("width", ["u4", "u5"])
def test_groups_with_zero_points(folder: Path, width: str, group: int, rows: int) -> None:
    a, w, s = posed(width, rows, 2 * group, 40, group, 2)
    z = np.random.default_rng(3).integers(0, 15, s.shape, endpoint=True).astype(np.uint8)
    c = np.zeros((rows, 40), np.float32)
    library(folder, "aarch64:i8mm", width, group).asymmetric(a, w, s, z, c)
    check(c, a, w, z[:, None, :], s)


@pytest.mark.parametrize("k", [0, 32, 64 * 32, 65 * 32, 131 * 32])
@pytest.mark.parametrize("rows", [1, 13])
def test_blocks_of_turns_and_what_is_left(folder: Path, rows: int, k: int) -> None:
    a, w, s = posed("u4", rows, k, 33, 32, 4)
    c = np.full((rows, 33), np.nan, np.float32)
    library(folder, "aarch64:i8mm", "u4", 32).symmetric(a, w, s, c)
    if k:
        check(c, a, w, 8, s)
    else:
        np.testing.assert_array_equal(c, 0)


@pytest.mark.parametrize("rows", [1, 12])
@pytest.mark.parametrize("x", [-128, 127])
@pytest.mark.parametrize("code", [0, 15])
@pytest.mark.parametrize("group", [32, 128, 256])
def test_extremes(folder: Path, group: int, code: int, x: int, rows: int) -> None:
    """Saturated activations and codes of one end: the tricks of accumulators stay in their ranges."""
    a, w = np.full((rows, 2 * group), x, np.int8), np.full((2 * group, 40), code, np.uint8)
    s = np.array([[1.0], [0.5]], np.float32).repeat(40, 1)
    c = np.zeros((rows, 40), np.float32)
    library(folder, "aarch64:i8mm", "u4", group).symmetric(a, w, s, c)
    np.testing.assert_array_equal(c, np.float32(x * (code - 8) * group * 1.5))
