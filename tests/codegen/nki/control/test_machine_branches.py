"""Branches and while loops by numbers in tiles, and whole quotients: the interpreter's numbers."""

from __future__ import annotations

from typing import Any

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.nki_simulator import running
from dslc.runtime.nki_simulator.language import Language
from dslc.runtime.nki_simulator.modules import kernel_modules
from dslc.runtime.nki_simulator.neuroncore import Core

TARGETS = ("nki:trn1", "nki:trn2", "nki:trn3")
HALVE = """
kernel halve(x: f32[M, N], y: out f32[M, N], c: out f32[M]):
    const BM = 16
    const BN = 32
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        a = x[m : m + BM, n : n + BN]
        count = zeros(f32, [BM])
        while sum(sum(a, 0), 0) > 100.0:
            a = a * 0.5
            count = count + 1.0
        if sum(sum(a, 0), 0) > 60.0:
            a = a + 1.0
        else:
            a = a - 1.0
        y[m : m + BM, n : n + BN] = a
        c[m : m + BM] = count
"""
QUOTIENTS = """
kernel quotients(x: i32[M, N], y: i32[M, N], q: out i32[M, N], r: out i32[M, N]):
    const BM = 128
    const BN = 64
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        a = x[m : m + BM, n : n + BN]
        b = y[m : m + BM, n : n + BN]
        q[m : m + BM, n : n + BN] = a // b
        r[m : m + BM, n : n + BN] = a % b
"""
ROUND = """
kernel rounded(x: f32[M, N], y: out f8e5m2[M, N], z: out f8e5m2[M, N]):
    const BM = 16
    const BN = 32
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        a = x[m : m + BM, n : n + BN]
        y[m : m + BM, n : n + BN] = cast(a, f8e5m2)
        z[m : m + BM, n : n + BN] = cast(a, f8e5m2, saturate=True)
"""


@pytest.mark.parametrize("target", TARGETS)
def test_loops_and_branches_by_sums(target: str) -> None:
    random = np.random.default_rng(0)
    # Strips that run twice and not at all, that branch to either side.
    sizes = np.repeat([1.0, 0.1, 0.25], 16)[:, None]
    x = (random.random((48, 32)) * sizes).astype(np.float32)
    made = {}
    for machine in ("interp", target):
        y, c = np.zeros_like(x), np.zeros(48, np.float32)
        dslc.compile(source=HALVE, target=machine, cache=False).halve(x, y, c)
        made[machine] = y, c
    assert sorted(set(made["interp"][1])) == [0.0, 2.0]
    for wanted, found in zip(made["interp"], made[target], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_quotients_of_32_bits_are_exact(target: str) -> None:
    random = np.random.default_rng(1)
    shape = (128, 64)
    x = random.integers(-(2**31), 2**31, shape).astype(np.int32)
    y = random.integers(-(2**31), 2**31, shape) >> random.integers(0, 31, shape)
    y = np.where(y == 0, 7, y).astype(np.int32)
    x[0, :4] = [-(2**31), 2**31 - 1, -(2**31), 2**31 - 1]
    y[0, :4] = [1, 1, 2**31 - 1, -(2**31)]
    x[1], y[1] = y[1] * 3, y[1]  # nothing is left
    q, r = np.zeros_like(x), np.zeros_like(x)
    dslc.compile(source=QUOTIENTS, target=target, cache=False).quotients(x, y, q, r)
    np.testing.assert_array_equal(q, x // y)
    np.testing.assert_array_equal(r, x % y)


@pytest.mark.parametrize("target", TARGETS)
def test_rounding_to_a_float_of_8_bits(target: str) -> None:
    random = np.random.default_rng(2)
    x = (random.standard_normal((16, 32)) * 10.0 ** random.integers(-7, 7, (16, 32))).astype(
        np.float32
    )
    x[0, :3] = [1e6, -1e6, 57344.0]
    kind = ml_dtypes.float8_e5m2
    y, z = np.zeros(x.shape, kind), np.zeros(x.shape, kind)
    dslc.compile(source=ROUND, target=target, cache=False).rounded(x, y, z)
    np.testing.assert_array_equal(y.view(np.uint8), x.astype(kind).view(np.uint8))
    clipped = np.clip(x, -57344.0, 57344.0).astype(kind)
    np.testing.assert_array_equal(z.view(np.uint8), clipped.view(np.uint8))


@pytest.mark.parametrize("missing", ["nki.language", "nki.experimental"])
def test_one_text_finds_while_loop_where_a_version_of_nki_has_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nki 0.6 has it in nki.experimental, later ones in nki.language."""

    def without(core: Core) -> tuple[dict[str, Any], Language]:
        modules, language = kernel_modules(core)
        del modules[missing].while_loop
        return modules, language

    x = np.full((16, 32), 1.0, np.float32)
    y, c = np.zeros_like(x), np.zeros(16, np.float32)
    kernel = dslc.compile(source=HALVE, target="nki:trn2", cache=False).halve
    monkeypatch.setattr(running, "kernel_modules", without)
    kernel(x, y, c)
    assert (c == 3.0).all()
