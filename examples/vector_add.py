"""The sum of two vectors: the smallest kernel that does something."""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

BN, N = dims("BN N")


@dslc.kernel(BN=[1024, 256, 4096])
def vector_add(x: tensor[f32, N], y: tensor[f32, N], z: out[f32, N]) -> None:
    """z = x + y."""

    # Each turn of a parallel loop does one block. The last block may reach past the end: what is
    # read there is 0, what is written there is dropped, so N needs no rounding up.
    for n in parallel(range(0, N, BN)):
        z[n : n + BN] = x[n : n + BN] + y[n : n + BN]


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100_000, np.float32)
    y = rng.standard_normal(100_000, np.float32)
    z = np.empty_like(x)
    start = time.perf_counter()
    vector_add(x, y, z)
    seconds = time.perf_counter() - start
    error = np.abs(z - (x + y)).max()
    print(f"vector_add of {x.size}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
