"""Products of quantised weights on warpgroups, from the examples, and numbers that they sum exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from dslc.checker import check_module
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.frontend import parse_tile

from support.gpu.emulation import lower
from support.kernels import every

EXAMPLE = Path(__file__).parents[3] / "examples" / "gemm_quantized.tile"
GROUP = 128


def quantized(
    k: int | None, n: int, tile: tuple[int, int, int], weights: str = "u4", split: int = 1,
    **options: int,
) -> Kernel:  # fmt: skip
    module = check_module(parse_tile(EXAMPLE.read_text(), str(EXAMPLE)), define={"W": weights})
    fixed = {"N": n} if k is None else {"K": k, "N": n}
    config = dict(zip(("BM", "BN", "BK"), tile, strict=True)) | {"SPLIT": split}
    found = lower(module.templates["gemm_quantized"].elaborate(fixed, config), **options)
    assert isinstance(found, Kernel)
    assert all(d.is_async for d in every(found, ins.Dot))
    return found


def arrays(m: int, k: int, n: int, bits: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Arguments whose products and sums are exact, and the result."""
    rng = np.random.default_rng(k)
    a = rng.integers(-2, 3, (m, k)).astype(np.float16)
    w = rng.integers(0, 1 << bits, (k, n)).astype(np.uint8)
    s = rng.choice([0.5, 1, 2], (k // GROUP, n)).astype(np.float16)
    exact = a.astype(np.float32) @ (w * np.repeat(s.astype(np.float32), GROUP, 0))
    c = np.full((m, n), np.nan, np.float16)
    return {"a": a, "w": w, "s": s, "c": c}, exact.astype(np.float16)
