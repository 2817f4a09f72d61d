"""Blocks of rows that share b's panel: which kernels are of that kind, and that they are right."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.codegen.cpu.generate import Kernels
from dslc.codegen.cpu.products import shared_panels
from dslc.compiler.passes.pass_lists.cpu import cpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.compiler.targets.cpu import processor_of

from support.kernels import one
from support.machines import this_cpu

# More blocks of rows than have room for their sums at once, a last one of a single row, ranges of
# threads that begin anywhere, scalars of a block of rows, and what a block adds in the end.
RAGGED = """
kernel ragged(x: f32[E, M, K], w: f32[K, N], r: f32[M], c: out f32[E, M, N]):
    for e, m, n in parallel(range(E), range(0, M, 32), range(0, N, 16)):
        base = m // 2
        acc = zeros(f32, [32, 16])
        for k in range(0, K, 8):
            acc += dot(x[e, m : m + 32, k : k + 8], w[k : k + 8, n : n + 16])
        c[e, m : m + 32, n : n + 16] = acc * r[m : m + 32, None] + cast(base, f32)
"""

OTHERS = {
    "b of a block": ("w: f32[E, K, N]", "w[m // 32, k : k + 8, n : n + 16]"),
    "loop of a block": ("w: f32[K, N]", "w[m + k : m + k + 8, n : n + 16]"),
}


@pytest.mark.parametrize("rows", [1, 65, 2081])
def test_results(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_THREADS", "3")
    rng = np.random.default_rng(rows)
    x = rng.integers(-4, 4, (2, rows, 20)).astype(np.float32)
    w = rng.integers(-4, 4, (20, 40)).astype(np.float32)
    r = rng.integers(1, 4, rows).astype(np.float32)
    c = np.zeros((2, rows, 40), np.float32)
    dslc.compile(RAGGED, target=this_cpu())["ragged"](x, w, r, c)
    base = (np.arange(rows) // 32 * 16)[:, None]
    np.testing.assert_array_equal(c, (x @ w) * r[:, None] + base)


def test_which_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    axes: list[str] = []
    monkeypatch.setattr(
        shared_panels, "turns", lambda e, kind, begin, end: axes.append(kind.axis.var.name)
    )
    texts = [RAGGED]
    for memory, region in OTHERS.values():
        text = RAGGED.replace("w: f32[K, N]", memory)
        texts.append(text.replace("w[k : k + 8, n : n + 16]", region))
    for text in texts:
        kernel = run_passes(one(text), cpu_passes())
        Kernels(kernel, processor_of(find_target("cpu:znver4")), "ragged").whole()
    # The others have one b for all e.
    assert axes == ["m", "e", "e"]
