"""The gate of a SwiGLU feed-forward layer (Shazeer, 2020)."""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
BM, BF, M, F = dims("BM BF M F")


def silu(x: Tile) -> Tile:
    """x * sigmoid(x); a function is inlined where it is called."""
    return x * sigmoid(x)


@dslc.kernel(BM=[4, 1, 16], BF=[512, 128, 1024])
def swiglu(gate: tensor[T, M, F], up: tensor[T, M, F], y: out[T, M, F]) -> None:
    """y = silu(gate) * up."""
    for m, f in parallel(range(0, M, BM), range(0, F, BF)):
        a = cast(gate[m : m + BM, f : f + BF], f32)
        b = cast(up[m : m + BM, f : f + BF], f32)
        y[m : m + BM, f : f + BF] = cast(silu(a) * b, T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    gate = rng.standard_normal((64, 3000)).astype(np.float16)
    up = rng.standard_normal((64, 3000)).astype(np.float16)
    y = np.empty_like(gate)
    start = time.perf_counter()
    swiglu(gate, up, y)
    seconds = time.perf_counter() - start
    a = gate.astype(np.float32)
    error = np.abs(y - a / (1 + np.exp(-a)) * up).max()
    print(f"swiglu of {gate.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
