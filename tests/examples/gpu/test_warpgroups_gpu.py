"""Operands that warpgroups take from registers, on a GPU: weights made meanwhile, and divisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest

pytestmark = pytest.mark.gpu
EXAMPLE = Path(__file__).parents[3] / "examples" / "gemm_quantized.tile"
DENSE = EXAMPLE.with_name("gemm.tile")
# Two operands stay the same in a loop with a third; the division's slow path is a call.
DIVIDED = """
kernel divided(x: f16[M, P], u: f16[P, P], v: f16[P, F], w: f16[P, F], d: f16[F, R], y: out f32[M, R]):
    for m in parallel(range(0, M, 64)):
        first = zeros(f32, [64, P])
        second = zeros(f32, [64, P])
        for p in range(0, P, 32):
            block = x[m : m + 64, p : p + 32]
            first += dot(block, u[p : p + 32, :])
            second += dot(block, u[p : p + 32, :])
        left = cast(first, f16)
        right = cast(second * 0.5, f16)
        down = zeros(f32, [64, R])
        for f in range(0, F, 64):
            a = dot(left, v[:, f : f + 64])
            b = dot(right, w[:, f : f + 64])
            down += dot(cast(a / (1.0 + b * b), f16), d[f : f + 64, :])
        y[m : m + 64, :] = down
"""
CHOICES: list[dict[str, int]] = [
    {"BM": 64, "BN": 128, "BK": 128, "SPLIT": 4, "warps": 8, "stages": 4},
    {"BM": 64, "BN": 64, "BK": 128, "SPLIT": 2, "warps": 4, "stages": 4},
    {"BM": 64, "BN": 128, "BK": 128, "warps": 8},
    {"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 5},
    {"BM": 64, "BN": 128, "BK": 128, "warps": 4, "stages": 2},
    {"BM": 256, "BN": 128, "BK": 64, "warps": 8, "stages": 6},
    {"BM": 256, "BN": 64, "BK": 64, "warps": 4},
    {"BM": 128, "BN": 128, "BK": 128, "warps": 8},
    {"BM": 128, "BN": 128, "BK": 128, "warps": 8, "cluster": 2},
    {"BM": 64, "BN": 128, "BK": 128, "SPLIT": 4, "warps": 8, "cluster": 4},
]


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.mark.parametrize("rows", [64, 250])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_weights_are_ready_when_they_are_multiplied(
    torch: Any, choice: dict[str, int], rows: int
) -> None:
    """Products and sums of these numbers are exact: one wrong register would be seen."""
    k, n = 4224, 1024  # an odd number of turns, and of groups
    rng = np.random.default_rng(rows)
    a = torch.from_numpy(rng.integers(-1, 2, (rows, k)).astype(np.float16)).cuda()
    w = rng.integers(0, 4, (k, n)).astype(np.uint8)
    s = torch.from_numpy(rng.choice([0.25, 0.5], (k // 128, n)).astype(np.float16)).cuda()
    decoded = torch.from_numpy(w).cuda().double() * s.double().repeat_interleave(128, 0)
    wanted = (a.double() @ decoded).half()
    kernel = dslc.compile(EXAMPLE, target="cuda").gemm_quantized.specialize(K=k, N=n, **choice)
    packed = torch.from_numpy(np.asarray(kernel.pack("w", w))).cuda()
    for _ in range(5):
        c = torch.full((rows, n), torch.nan, device="cuda", dtype=torch.float16)
        kernel(a, packed, s, c)
        assert torch.equal(c, wanted)


@pytest.mark.parametrize("size", [(80, 144, 160), (1000, 3336, 1032), (4096, 1024, 2048)])
@pytest.mark.parametrize("cluster", [2, 4])
def test_blocks_of_a_cluster_share_what_they_read(
    torch: Any, cluster: int, size: tuple[int, int, int]
) -> None:
    m, n, k = size
    a = torch.randint(-2, 3, (m, k), device="cuda").half()
    b = torch.randint(-2, 3, (k, n), device="cuda").half()
    wanted = (a.double() @ b.double()).half()
    gemm = dslc.compile(DENSE, target="cuda").gemm
    for _ in range(5):
        c = torch.full((m, n), torch.nan, device="cuda", dtype=torch.float16)
        gemm(a, b, c, BM=128, BN=128, BK=64, cluster=cluster)
        assert torch.equal(c, wanted)


@pytest.mark.parametrize("turns", [1, 2, 5, 16])
def test_operands_that_stay_the_same_beside_a_division(
    torch: Any, turns: int, tmp_path: Path
) -> None:
    source = tmp_path / "divided.tile"
    source.write_text(DIVIDED)
    shapes = [(130, 64), (64, 64), (64, 64 * turns), (64, 64 * turns), (64 * turns, 64)]
    x, u, v, w, d = (torch.randn(s, device="cuda", dtype=torch.float16) / 8 for s in shapes)
    y = torch.full((130, 64), torch.nan, device="cuda")
    dslc.compile(source, target="cuda").divided(x, u, v, w, d, y)
    first = x.double() @ u.double()
    a = first.half().double() @ v.double()
    b = (first * 0.5).half().double() @ w.double()
    wanted = (a / (1 + b * b)).half().double() @ d.double()
    assert (y.double() - wanted).norm() <= 2e-3 * wanted.norm()
