"""Programs with edges: fills, loops whose ends are read from tensors, reductions of flags."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from support.machines import MACHINES, call

TOP = """
kernel top(x: f32[M, N], v: out f32[M], i: out i32[M]):
    const BM = 8
    const BN = 32
    for m in parallel(range(0, M, BM)):
        best = full(f32, [BM], -inf)
        at = zeros(i32, [BM])
        for n in range(0, N, BN):
            t = load(x[m : m + BM, n : n + BN], other=-inf)
            here = max(t, 1)
            at = where(here > best, argmax(t, 1) + n, at)
            best = maximum(here, best)
        v[m : m + BM] = best
        i[m : m + BM] = at
"""
GROUPED = """
kernel grouped(x: f16[T, K], w: f16[E, K, N], starts: i32[E + 1], y: out f32[T, N]):
    const BM = 16
    for e, n in parallel(range(E), range(0, N, 32)):
        first = starts[e]
        last = starts[e + 1]
        for m in range(first, last, BM):
            acc = zeros(f32, [BM, 32])
            for k in range(0, K, 16):
                acc += dot(x[m : m + BM, k : k + 16], w[e, k : k + 16, n : n + 32])
            rows = arange(BM) + m
            scatter(y[:, n : n + 32], where(rows < last, rows, -1), acc, 0)
"""
FLAGS = """
kernel flags(x: f32[M, N], a: out bool[M], b: out bool[M]):
    const N = 20
    for i in parallel(range(0, M, 4)):
        t = x[i : i + 4, :]
        a[i : i + 4] = any(t > 2.0, 1)
        b[i : i + 4] = all(t > -2.0, 1)
"""
BITS = """
kernel signs(x: bf16[M, K], w: i1[K, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(f32, [16, 32])
        for k in range(0, K, 32):
            acc += dot(x[m : m + 16, k : k + 32], cast(w[k : k + 32, n : n + 32], bf16) * 2 + 1)
        y[m : m + 16, n : n + 32] = acc
"""

POWERS = """
kernel powers(a: f32[B, 8, 8], y: out f32[B, 8, 8]):
    for b in parallel(range(B)):
        p = a[b, :, :]
        q = zeros(f32, [8, 8])
        for i in range(2):
            p = dot(p, a[b, :, :])
            q += p
            for j in range(2):
                p = dot(p, a[b, :, :]) * 0.5
        y[b, :, :] = p + q
"""
SQUARES = """
kernel squares(x: f32[M, 8], y: out f32[M, 8], z: out f32[M, 8]):
    for m in parallel(range(0, M, 8)):
        t = x[m : m + 8, :]
        y[m : m + 8, :] = dot(t, t)
        z[m : m + 8, :] = dot(t, t, transposed="b") + t
"""
ROTARY = """
kernel rotary(x: f32[S, D], c: f32[S, D // 2], s: f32[S, D // 2], y: out f32[S, D]):
    const D = 32
    for i in parallel(range(0, S, 8)):
        pair = reshape(x[i : i + 8, :], [8, D // 2, 2])
        a = pair[:, :, 0]
        b = pair[:, :, 1]
        co = c[i : i + 8, :]
        si = s[i : i + 8, :]
        turned = concat([(a * co - b * si)[:, :, None], (a * si + b * co)[:, :, None]], 2)
        y[i : i + 8, :] = reshape(turned, [8, D])
"""
HISTOGRAM = """
kernel histogram(x: u8[N], h: inout i32[40]):
    for n in parallel(range(0, N, 16)):
        for i in range(min(16, N - n)):
            h[cast(x[n + i], i32)] += 1
"""
SHIFTS = """
kernel shifts(x: i32[N], y: u8[N], a: out i32[4, N], b: out u8[4, N]):
    for i in parallel(range(1)):
        for k in range(4):
            a[k, :] = (x[:] >> (k + 1)) << k
            b[k, :] = (y[:] << k) >> (4 - k)
"""
CHAIN = """
kernel chain(x: f32[M, K], w: f32[K, N], a: f32[K, 8], b: f32[8, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 16)):
        acc = zeros(f32, [8, 16])
        low = zeros(f32, [8, 8])
        for k in range(0, K, 16):
            acc += dot(x[m : m + 8, k : k + 16], w[k : k + 16, n : n + 16])
            low += dot(x[m : m + 8, k : k + 16], a[k : k + 16, :])
        acc += dot(low, b[:, n : n + 16])
        y[m : m + 8, n : n + 16] = acc
"""


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("target", MACHINES)
def test_a_maximum_over_a_ragged_end(target: str) -> None:
    x = np.round(normal(0, 13, 100) * 4) - 40  # all below 0, with ties
    v, i = np.zeros(13, np.float32), np.zeros(13, np.int32)
    call(target, TOP, {"x": x, "v": v, "i": i})
    np.testing.assert_array_equal(v, x.max(1))
    np.testing.assert_array_equal(i, x.argmax(1))


@pytest.mark.parametrize("target", [m for m in MACHINES if m != "aie:npu2"])
def test_groups_whose_rows_a_tensor_tells(target: str) -> None:
    starts = np.array([0, 7, 7, 40, 50], np.int32)
    x, w = normal(1, 50, 24).astype(np.float16), normal(2, 4, 24, 40).astype(np.float16)
    y = np.zeros((50, 40), np.float32)
    call(target, GROUPED, {"x": x, "w": w, "starts": starts, "y": y})
    for e, (a, b) in enumerate(itertools.pairwise(starts)):
        wanted = x[a:b].astype(np.float32) @ w[e].astype(np.float32)
        np.testing.assert_allclose(y[a:b], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", MACHINES)
def test_reductions_of_flags(target: str) -> None:
    x = normal(3, 9, 20)
    a, b = np.zeros(9, np.bool_), np.zeros(9, np.bool_)
    call(target, FLAGS, {"x": x, "a": a, "b": b})
    np.testing.assert_array_equal(a, (x > 2).any(1))
    np.testing.assert_array_equal(b, (x > -2).all(1))


@pytest.mark.parametrize("target", MACHINES)
def test_weights_of_one_bit(target: str) -> None:
    x = np.round(normal(4, 5, 64) * 8).astype(ml_dtypes.bfloat16)
    w = np.random.default_rng(5).integers(-1, 1, (64, 40)).astype(np.int8)
    y = np.zeros((5, 40), np.float32)
    call(target, BITS, {"x": x, "w": w, "y": y})
    np.testing.assert_array_equal(y, x.astype(np.float32) @ (w * 2.0 + 1))


@pytest.mark.parametrize("target", MACHINES)
def test_products_of_what_is_carried(target: str) -> None:
    a = np.round(normal(6, 2, 8, 8) * 2)
    y = np.zeros_like(a)
    call(target, POWERS, {"a": a, "y": y})
    power = [np.linalg.matrix_power(a, n) for n in range(8)]
    wanted = power[7] / 16 + power[2] + power[5] / 4
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=0.1)


@pytest.mark.parametrize("target", MACHINES)
def test_a_tile_times_itself(target: str) -> None:
    x = np.round(normal(10, 16, 8) * 2)
    y, z = np.zeros_like(x), np.zeros_like(x)
    call(target, SQUARES, {"x": x, "y": y, "z": z})
    t = x.reshape(2, 8, 8)
    np.testing.assert_array_equal(y, (t @ t).reshape(16, 8))
    np.testing.assert_array_equal(z, (t @ t.transpose(0, 2, 1) + t).reshape(16, 8))


@pytest.mark.parametrize("target", MACHINES)
def test_pairs_that_are_turned(target: str) -> None:
    x, angle = normal(7, 11, 32), normal(8, 11, 16)
    y = np.zeros_like(x)
    call(target, ROTARY, {"x": x, "c": np.cos(angle), "s": np.sin(angle), "y": y})
    turned = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angle)
    np.testing.assert_allclose(y[:, 0::2], turned.real, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(y[:, 1::2], turned.imag, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [m for m in MACHINES if m != "aie:npu2"])
def test_counting_where_a_number_tells(target: str) -> None:
    """Numbers past the end are counted nowhere."""
    x = np.random.default_rng(9).integers(0, 50, 75).astype(np.uint8)
    h = np.zeros(40, np.int32)
    call(target, HISTOGRAM, {"x": x, "h": h})
    np.testing.assert_array_equal(h, np.bincount(x, minlength=50)[:40])


@pytest.mark.parametrize("target", MACHINES)
def test_shifts_by_a_counter(target: str) -> None:
    rng = np.random.default_rng(11)
    x = rng.integers(-(2**31), 2**31, 20).astype(np.int32)
    y = rng.integers(0, 256, 20, np.uint8)
    a, b = np.zeros((4, 20), np.int32), np.zeros((4, 20), np.uint8)
    call(target, SHIFTS, {"x": x, "y": y, "a": a, "b": b})
    for k in range(4):
        np.testing.assert_array_equal(a[k], x >> (k + 1) << k)
        np.testing.assert_array_equal(b[k], (y << np.uint8(k)) >> np.uint8(4 - k))


@pytest.mark.parametrize("target", MACHINES)
def test_a_product_added_to_what_a_loop_has_summed(target: str) -> None:
    x, w, a, b = (np.round(normal(12, *s)) for s in ((11, 40), (40, 21), (40, 8), (8, 21)))
    y = np.zeros((11, 21), np.float32)
    call(target, CHAIN, {"x": x, "w": w, "a": a, "b": b, "y": y})
    np.testing.assert_array_equal(y, x @ w + x @ a @ b)
