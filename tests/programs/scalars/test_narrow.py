"""Scalars of narrow types wrap and round as elements of tiles do, whatever they are computed in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.machines import call

MACHINES = ("cuda:sm_90a", "hip:gfx950", "aarch64:i8mm", "nki:trn2", "aie:npu2")
INTEGERS = ("u1", "i2", "u4", "i4", "u7", "i8", "u8", "i16", "u16")

WRAPS = """
kernel wraps(x: {dtype}[3], y: out i32[8]):
    a = x[0]
    b = x[1]
    y[0] = cast(a + b, i32)
    y[1] = cast(a - b, i32)
    y[2] = cast(a * b, i32)
    y[3] = cast(~a, i32)
    y[4] = cast(-a, i32)
    y[5] = cast(a * a * a, i32)
    y[6] = select(a + b < a, 1, 0)
    y[7] = select(~a <= b, 1, 0)
"""
ROUNDS = """
kernel rounds(x: {dtype}[3], n: i32, y: out f32[5]):
    a = x[0]
    b = x[1]
    y[0] = cast(a + b, f32)
    y[1] = cast(a * b, f32)
    y[2] = cast(cast(n, {dtype}), f32)
    y[3] = cast(a / b, f32)
    y[4] = cast(select(a + b == a, 1, 0), f32)
"""


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.sampled(3)
def test_integers_wrap(target: str, dtype: str) -> None:
    bits = int(dtype[1:])
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if dtype[0] == "i" else (0, 1 << bits)
    values = [high - 1, max(low, high // 2), low]
    x = np.array(values, f"{'int' if dtype[0] == 'i' else 'uint'}{8 if bits <= 8 else 16}")
    found, wanted = np.zeros(8, np.int32), np.ones(8, np.int32)
    call(target, WRAPS.format(dtype=dtype), {"x": x, "y": found})
    a, b = values[0], values[1]
    exact = [a + b, a - b, a * b, -1 - a, -a, a**3]
    wrapped = [(n - low) % (1 << bits) + low for n in exact]
    wanted[:] = [*wrapped, wrapped[0] < a, wrapped[3] <= b]
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.sampled(2)
def test_floats_round(target: str, dtype: str) -> None:
    import ml_dtypes

    held = np.float16 if dtype == "f16" else ml_dtypes.bfloat16
    x = np.array([2049.0 if dtype == "bf16" else 2048.0, 3.0, 0.0], np.float32).astype(held)
    found = np.zeros(5, np.float32)
    call(target, ROUNDS.format(dtype=dtype), {"x": x, "n": 4099, "y": found})
    a, b = np.float32(x[0]), np.float32(x[1])
    wanted = [np.float32(held(v)) for v in (a + b, a * b, np.float32(4099), a / b)]
    assert found.tolist() == [*wanted, float(wanted[0] == a)]


SCALES = """
kernel scales(x: f32[3], y: out f32[6]):
    y[0] = cast(cast(x[0], e8m0, saturate=True), f32)
    y[1] = cast(cast(x[1], f8e4m3, saturate=True), f32)
    y[2] = cast(cast(x[1], f6e3m2, saturate=True), f32)
    y[3] = cast(cast(x[2], f16, saturate=True), f32)
    y[4] = cast(cast(x[1], f4e2m1), f32)
    y[5] = cast(cast(x[0], f3e1m1, saturate=True), f32)
"""


@pytest.mark.parametrize("target", MACHINES)
def test_floats_saturate(target: str) -> None:
    x, found, wanted = (np.array([0, 5e8, -np.inf], np.float32), *np.zeros((2, 6), np.float32))
    call(target, SCALES, {"x": x, "y": found})
    call("interp", SCALES, {"x": x, "y": wanted})
    assert found.tolist() == wanted.tolist()
    assert wanted.tolist()[:4] == [2.0**-127, 448.0, 28.0, -65504.0]


GIVEN_INTEGERS = """
kernel given(a: {d}, b: {d}, n: i32, y: out i32[10], z: out {d}[4]):
    t = a * b
    y[0] = cast(a + b, i32)
    y[1] = cast(t * b - a, i32)
    y[2] = cast(cast(n, {d}), i32)
    y[3] = cast(cast(n, {d}, saturate=True), i32)
    y[4] = cast(a // b, i32)
    y[5] = select(a + b < a, 1, 0)
    y[6] = cast(-a, i32)
    y[7] = cast(~a, i32)
    y[8] = cast(a << 2, i32) + cast(a**3, i32)
    y[9] = cast(b**b, i32)
    z[0:4] = full({d}, [4], 3) * (a + b) - t
"""
GIVEN_FLOATS = """
kernel given(a: {d}, b: {d}, n: i32, y: out f32[8], z: out {d}[4]):
    t = a * b
    y[0] = cast(a + b, f32)
    y[1] = cast(t * b - a, f32)
    y[2] = cast(cast(n, {d}), f32)
    y[3] = cast(floor(a / b) + 0.1, f32) * 3.0
    y[4] = cast(a * 7.0 % b, f32)
    y[5] = cast(cast(a, f8e4m3, saturate=True), f32)
    if a + b == a:
        y[6] = cast(cast(b, i32), f32)
    else:
        y[6] = cast(cast(-b, i32), f32)
    y[7] = cast(a * a, f32)
    z[0:4] = full({d}, [4], 0.3) * (a + b) - t
"""


@pytest.mark.parametrize("dtype", ["i4", "u3", "i8", "u8", "i16", "u16", "i32", "u32"])
@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.sampled(5)
def test_integers_that_a_call_gives(target: str, dtype: str) -> None:
    held = np.dtype(f"{'int' if dtype[0] == 'i' else 'uint'}{max(8, int(dtype[1:]))}")
    bits = int(dtype[1:])
    a, b = (5, 3) if bits < 8 else ((1 << bits - 2) + 13, 7)
    _both(target, GIVEN_INTEGERS, dtype, (a, b, 2**30 + 3), np.int32, held)


@pytest.mark.parametrize(
    ("target", "dtype"),
    [
        (t, d) for t in MACHINES for d in ("f16", "bf16", "f32") if (t, d) != ("aie:npu2", "f16")
    ],  # its casts take all of a core's program memory
)
@pytest.mark.sampled(4)
def test_floats_that_a_call_gives(target: str, dtype: str) -> None:
    import ml_dtypes

    held = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}[dtype]
    _both(target, GIVEN_FLOATS, dtype, (2049.3, 3.1, 4099), np.float32, held)


def _both(
    target: str, source: str, dtype: str, given: tuple[float, ...], shown: Any, held: Any
) -> None:
    found = []
    for machine in ("interp", target):
        y, z = np.full(10, 9, shown), np.zeros(4, held)
        y = y[: 10 if shown == np.int32 else 8]
        args = dict(zip("abn", given, strict=True)) | {"y": y, "z": z}
        call(machine, source.format(d=dtype), args)
        found.append([y.tolist(), z.tolist()])
    assert found[1] == found[0]
