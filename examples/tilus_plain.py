"""The f16 x i6 product of the Tilus paper (its Figure 2), written by hand at the explicit level.

One warp computes a 16 x 8 tile of c with the tensor core's m16n8k16 product. The weights come
rearranged by tilus_rearrange: a tile of 16 x 8 weights of 6 bits is 96 bytes, 3 for each thread,
and those 3 bytes are exactly the 4 weights that the thread needs, so `view` moves nothing.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from tilus_rearrange import tilus_rearrange

BM, BN, BK, M, K, N = dims("BM BN BK M K N")


@dslc.kernel(BM=16, BN=8, BK=16)
def tilus_plain(
    a: tensor[f16, M, K], b: tensor[u8, K // BK, N // BN, BK * BN * 6 // 8], c: out[f16, M, N]
) -> None:
    """c = a @ b, b rearranged."""
    require(M % BM == 0)
    require(N % BN == 0)
    require(K % BK == 0)

    grid(M // BM, N // BN)
    bi, bj = block_index()
    m = bi * BM
    n = bj * BN
    acc = register(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0)
    for k in range(0, K, BK):
        ra = load(a[m : m + BM, k : k + BK], layout=column_local(2, 2).spatial(8, 4).local(1, 2))
        raw = load(b[k // BK, bj, :], layout=local(3).spatial(32))
        rb = view(raw, i6, layout=local(2, 1).column_spatial(4, 8).local(2, 1))
        acc += dot(ra, cast(rb, f16))
    c[m : m + BM, n : n + BN] = cast(acc, f16)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 32, 32, 128
    a = rng.standard_normal((m, k)).astype(np.float16)
    codes = rng.integers(-32, 32, (k, n), np.int8)
    b = np.empty((k // 16, n // 8, 96), np.uint8)
    tilus_rearrange(codes, b)
    c = np.empty((m, n), np.float16)
    start = time.perf_counter()
    tilus_plain(a, b, c)
    seconds = time.perf_counter() - start
    expected = a.astype(np.float32) @ codes.astype(np.float32)
    error = np.abs(c - expected).max() / np.abs(expected).max()
    print(f"f16 x i6 product {m} x {n} x {k}: relative error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
