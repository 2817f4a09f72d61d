"""Calls that do not fit, and calls that have nothing to do, on every machine."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import MACHINES, call, require

PRODUCT = """
kernel product(x: f32[M, K], w: f32[K, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 8)):
        acc = zeros(f32, [8, 8])
        for k in range(0, K, 8):
            acc += dot(x[m : m + 8, k : k + 8], w[k : k + 8, n : n + 8])
        y[m : m + 8, n : n + 8] = acc + 1.0
"""
# Strides that a call tells.
STRIDED = """
kernel columns(x: f32[M, N] strides (rows, 2), y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        for n in range(0, N, 8):
            y[m : m + 4, n : n + 8] = x[m : m + 4, n : n + 8]
"""
# Scalars of floats, and computed ones, through a program, of tensors with strides that the call tells.
PROGRAM = """
kernel scaled(x: f32[M, N] strides (rows, 1), f: f32, h: f16, n: i32, y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        for c in range(0, N, 8):
            y[m : m + 4, c : c + 8] = x[m : m + 4, c : c + 8] * f + (cast(h, f32) - cast(n, f32))

program twice(x: f32[M, N] strides (rows, 1), f: f32, h: f16, n: i32, y: out f32[M, N]):
    t = buffer(f32, [M, N])
    scaled(x, f, h, n, t)
    scaled(t, 0.25, h, n + 1, y)
"""
SCALARS = """
kernel scalars(h: f16, b: bf16, f: f32, y: out f32[8]):
    at = arange(8)
    found = where(at == 0, cast(h, f32) * 1024, where(at == 1, cast(b, f32), where(at == 2, f, 0)))
    y[0:8] = found
"""
CALLED = [m for m in MACHINES if not m.startswith("cuda")]  # the emulator of CUDA gets no calls


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize("target", CALLED)
@pytest.mark.parametrize(
    ("w", "y", "wrong"), [((16, 4), (4, 4), "w"), ((8, 4), (5, 4), "y"), ((8, 4), (4, 5), "y")]
)
def test_extents_that_do_not_agree(
    target: str, w: tuple[int, int], y: tuple[int, int], wrong: str
) -> None:
    require(target)
    library = dslc.compile(PRODUCT, target=target, cache=False)
    with pytest.raises(DiagnosticError, match=rf"DSL0752\]: argument {wrong} has shape"):
        library.product(zeros(4, 8), zeros(*w), zeros(*y))


@pytest.mark.parametrize("target", MACHINES)
def test_nothing_to_do_and_sums_of_nothing(target: str) -> None:
    call(target, PRODUCT, {"x": zeros(0, 8), "w": zeros(8, 3), "y": zeros(0, 3)})
    y = zeros(4, 3)
    call(target, PRODUCT, {"x": zeros(4, 0), "w": zeros(0, 3), "y": y})
    assert (y == 1).all()


@pytest.mark.parametrize("target", [*MACHINES, "interp"])
def test_scalars_are_rounded_to_their_type(target: str) -> None:
    y = zeros(8)
    call(target, SCALARS, {"h": 0.3, "b": 0.7, "f": 0.1, "y": y})
    wanted = np.float32(np.float16(0.3)) * 1024, float.fromhex("0x1.66p-1"), np.float32(0.1)
    np.testing.assert_array_equal(y, np.float32([*wanted, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize("target", [m for m in (*MACHINES, "interp") if not m.startswith("aie")])
def test_a_program_hands_on_scalars_and_strides(target: str) -> None:
    x, y = np.arange(8 * 24, dtype=np.float32).reshape(8, 24)[:, :16], zeros(8, 16)
    call(target, PROGRAM, {"x": x, "f": 0.75, "h": 0.3, "n": 2, "y": y}, kernel="twice")
    h = np.float32(np.float16(0.3))
    np.testing.assert_allclose(y, (x * 0.75 + (h - 2)) * 0.25 + (h - 3), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", [m for m in (*MACHINES, "interp") if not m.startswith("aie")])
def test_strides_of_the_arguments(target: str) -> None:
    x, y = np.arange(7 * 24, dtype=np.float32).reshape(7, 24)[:, ::2], zeros(7, 12)
    call(target, STRIDED, {"x": x, "y": y})
    np.testing.assert_array_equal(x, y)
