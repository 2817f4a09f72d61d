"""Reductions that workgroups share: any order gives the same bits, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.hip import HipKernel
from dslc.runtime.hip_emulator import compiler

pytestmark = [
    pytest.mark.usefixtures("clang"),
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler"),
]
SOURCE = Path(__file__).parents[2] / "benchmarks" / "split_k.tile"
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("dtype", "shape", "split"),
    [("bf16", (1, 96, 512), 4), ("f16", (33, 100, 640), 8), ("bf16", (17, 64, 264), 2)],
)
def test_parts_are_added_in_one_order(
    chip: str, dtype: str, shape: tuple[int, int, int], split: int
) -> None:
    """Rounding shows the order of a sum: real numbers, and every launch on the same workspaces."""
    m, n, k = shape
    lib = dslc.compile(SOURCE, f"hip:{chip}", define={"T": dtype, "K": k})
    config = {"BM": 16, "BN": 64, "BK": 64, "SPLIT": split}
    made = lib["split_k"].specialize_for({"M": m, "N": n, "K": k}, config)
    kernel = HipKernel(made.artifact)
    rng = np.random.default_rng(0)
    a, w = (rng.standard_normal(s).astype(TYPES[dtype]) for s in ((m, k), (n, k)))
    bias = rng.standard_normal(n).astype(TYPES[dtype])
    exact = a.astype(np.float64) @ w.astype(np.float64).T + bias.astype(np.float64)
    results = []
    for seed in range(5):
        c = np.full((m, n), np.nan, TYPES[dtype])
        kernel.launch({"a": a, "w": w, "bias": bias, "c": c}, {}, seed=seed)
        results.append(c.view(np.uint16).copy())
    assert all((r == results[0]).all() for r in results)
    np.testing.assert_allclose(c.astype(np.float64), exact, rtol=2e-2, atol=2e-2 * k**0.5)
