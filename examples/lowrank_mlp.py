"""A SwiGLU feed-forward layer whose three matrices are low-rank, in one kernel.

Gate, up and down are U V each, of ranks P, Q and R. The hidden layer of F columns is made and used
block by block and never leaves the chip.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from swiglu import silu

T = f16
BM, BF, BH, M, H, P, F, Q, R = dims("BM BF BH M H P F Q R")


@dslc.kernel(BM=[64, 16], BF=[64, 128, 256], BH=[32, 64, 128])
def lowrank_mlp(
    x: tensor[T, M, H],
    gate_u: tensor[T, H, P],
    gate_v: tensor[T, P, F],
    up_u: tensor[T, H, Q],
    up_v: tensor[T, Q, F],
    down_u: tensor[T, F, R],
    down_v: tensor[T, R, H],
    y: out[T, M, H],
) -> None:
    """y = (silu(x gate_u gate_v) * (x up_u up_v)) down_u down_v."""
    for m in parallel(range(0, M, BM)):
        gate = zeros(f32, [BM, P])
        up = zeros(f32, [BM, Q])
        for h in range(0, H, BH):
            block = x[m : m + BM, h : h + BH]
            gate += dot(block, gate_u[h : h + BH, :])
            up += dot(block, up_u[h : h + BH, :])
        low_gate = cast(gate, T)
        low_up = cast(up, T)

        down = zeros(f32, [BM, R])
        for f in range(0, F, BF):
            a = dot(low_gate, gate_v[:, f : f + BF])
            b = dot(low_up, up_v[:, f : f + BF])
            down += dot(cast(silu(a) * b, T), down_u[f : f + BF, :])
        low_down = cast(down, T)

        for h in range(0, H, BH):
            y[m : m + BM, h : h + BH] = cast(dot(low_down, down_v[:, h : h + BH]), T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, h, f, ranks = 64, 256, 700, (32, 48, 40)

    def factors(rows: int, columns: int, rank: int) -> list[np.ndarray]:
        shapes = (rows, rank), (rank, columns)
        return [(rng.standard_normal(s) / s[0] ** 0.5).astype(np.float16) for s in shapes]

    x = rng.standard_normal((m, h)).astype(np.float16)
    weights = factors(h, f, ranks[0]) + factors(h, f, ranks[1]) + factors(f, h, ranks[2])
    y = np.empty((m, h), np.float16)
    start = time.perf_counter()
    lowrank_mlp(x, *weights, y)
    seconds = time.perf_counter() - start
    gu, gv, uu, uv, du, dv = (w.astype(np.float32) for w in weights)
    gate = x @ gu @ gv
    expected = gate / (1 + np.exp(-gate)) * (x @ uu @ uv) @ du @ dv
    error = np.abs(y - expected).max()
    print(f"low-rank MLP {m} x {h} x {f}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
