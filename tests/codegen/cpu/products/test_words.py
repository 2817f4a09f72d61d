"""Weights of every width, multiplied by few rows: right, and brought a register at a time."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.compiler.dtypes import decode, parse_dtype

from support.machines import kinds_here, this_cpu

SOURCE = """
const W = u4
const BM = 8
const BN = 64
const G = 32

kernel scaled(a: f32[M, K], w: W[K, N], s: f32[K // G, N], c: out f32[M, N]):
    require K % G == 0
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, G):
            scale = repeat(s[k // G : k // G + 1, n : n + BN], G, 0)
            acc += dot(a[m : m + BM, k : k + G], cast(w[k : k + G, n : n + BN], f32) * scale)
        c[m : m + BM, n : n + BN] = acc

kernel dequantised(w: W[K, N], s: f32[N], c: out f32[K, N]):
    for k, n in parallel(range(0, K, BM), range(0, N, BN)):
        c[k : k + BM, n : n + BN] = cast(w[k : k + BM, n : n + BN], f32) * s[n : n + BN][None, :]

kernel bytes(a: i8[M, K], w: W[K, N], c: out i32[M, N]):
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(i32, [BM, BN])
        for k in range(0, K, G):
            acc += dot(a[m : m + BM, k : k + G], cast(w[k : k + G, n : n + BN], i8))
        c[m : m + BM, n : n + BN] = acc
"""
WIDTHS = ["u1", "u2", "u3", "u4", "u5", "u6", "u7", "i2", "i3", "i4", "i7", "f4e2m1", "f3e2m0"]


def _codes(name: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Codes as `pack` takes them, and their numbers."""
    dtype = parse_dtype(name)
    assert dtype is not None
    bits = np.random.default_rng(7).integers(0, 1 << dtype.bits, shape).astype(np.uint8)
    if dtype.is_float:
        return bits, decode(bits, dtype).astype(np.float64)
    if dtype.is_signed:
        numbers = bits.astype(np.int8) - ((bits >> (dtype.bits - 1)) << dtype.bits).astype(np.int8)
        return numbers, numbers.astype(np.float64)
    return bits, bits.astype(np.float64)


@pytest.mark.parametrize("rows", [1, 5, 17])
@pytest.mark.parametrize("width", WIDTHS)
def test_floats_times_codes_with_scales(width: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    k, n = 96, 160
    a = rng.normal(size=(rows, k)).astype(np.float32)
    s = rng.normal(size=(k // 32, n)).astype(np.float32)
    codes, numbers = _codes(width, (k, n))
    wanted = a.astype(np.float64) @ (numbers * np.repeat(s, 32, 0))
    this_cpu()
    kinds = kinds_here()
    for columns in (64, 128) if rows == 5 else (64,):
        define = {"W": width, "BN": columns}
        kernel = dslc.compile(SOURCE, target=kinds[rows % len(kinds)], define=define, cache=False)
        c = np.zeros((rows, n), np.float32)
        kernel["scaled"](a=a, w=kernel["scaled"].pack("w", codes), s=s, c=c)
        assert np.abs(c - wanted).max() <= 2e-6 * np.abs(wanted).max(), (width, rows, columns)


@pytest.mark.parametrize("width", ["u1", "u3", "u4", "u7"])
def test_bytes_times_codes(width: str) -> None:
    codes, numbers = _codes(width, (64, 96))
    a = np.random.default_rng(1).integers(-128, 128, (3, 64)).astype(np.int8)
    kernel = dslc.compile(SOURCE, target=this_cpu(), define={"W": width}, cache=False)["bytes"]
    c = np.zeros((3, 96), np.int32)
    kernel(a=a, w=kernel.pack("w", codes), c=c)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ numbers.astype(np.int64))


@pytest.mark.parametrize("width", ["u4", "i4", "u3"])
def test_numbers_that_are_stored_are_exact(width: str) -> None:
    """Signs of 0 and scales near the ends of f32's range, which sums of products need not keep."""
    codes, numbers = _codes(width, (16, 64))
    s = np.resize(np.float32([-1.5, 3e38, 1e-40, np.inf, 0.0, -0.0]), 64)
    kernel = dslc.compile(SOURCE, target=this_cpu(), define={"W": width}, cache=False)
    c = np.zeros((16, 64), np.float32)
    kernel["dequantised"](w=kernel["dequantised"].pack("w", codes), s=s, c=c)
    with np.errstate(all="ignore"):
        wanted = numbers.astype(np.float32) * s
    np.testing.assert_array_equal(c, wanted)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(c)[known], np.signbit(wanted)[known])


@pytest.mark.parametrize("width", ["u1", "u3", "u4", "u7"])
@pytest.mark.parametrize("rows", [1, 4, 8])
def test_no_code_is_brought_by_itself(width: str, rows: int) -> None:
    """A byte inserted into a register is one lane's: sixteen times the time."""
    pytest.importorskip("llvmlite")
    define = {"W": width, "BN": 128, "BM": rows}
    kernel = dslc.compile(SOURCE, target="cpu:znver4", define=define, cache=False)["scaled"]
    text = kernel.specialize_for({"M": rows, "K": 4096, "N": 4096}, {}).source("asm")
    assert "vfmadd" in text
    assert "vpinsrb" not in text
