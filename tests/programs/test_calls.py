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


@pytest.mark.parametrize("target", ["hip:gfx950", "nki:trn2", "aarch64:bf16", "interp"])
def test_strides_of_the_arguments(target: str) -> None:
    x, y = np.arange(7 * 24, dtype=np.float32).reshape(7, 24)[:, ::2], zeros(7, 12)
    call(target, STRIDED, {"x": x, "y": y})
    np.testing.assert_array_equal(x, y)
