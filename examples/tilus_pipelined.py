"""The pipelined f16 x i6 product of the Tilus paper (its Figure 14), at the explicit level.

Four warps compute a 16 x 32 tile of c. Three stages of shared memory are in flight: while one is
multiplied, asynchronous copies fill the next but one. Shared memory is swizzled so that neither the
copies nor the loads meet in a bank. The weights come from tilus_rearrange_words.

Corrected against the paper:
- The copies in the main loop fetch the block STAGES - 1 ahead (the figure fetches the current one
  again), and none past the end of K.
- The product belongs to the inner loop.
- The result's shared layout has the 32 columns of the tile (the figure's has 64). A row has 4 chunks,
  so the swizzle begins again every 8 rows.
- `local` for `repeat`, `i6` for `u6`, and the result is stored to c (the figure: `gc`).
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from tilus_rearrange import tilus_rearrange_words

BM, BN, BK, UK, STAGES, M, K, N = dims("BM BN BK UK STAGES M K N")


@dslc.kernel(BM=16, BN=32, BK=256, UK=64, STAGES=3)
def tilus_pipelined(
    a: tensor[f16, M, K], b: tensor[u32, K // BK, N // BN, BK * BN * 6 // 32], c: out[f16, M, N]
) -> None:
    """c = a @ b, b rearranged."""
    require(M % BM == 0)
    require(N % BN == 0)
    require(K % BK == 0)

    grid(M // BM, N // BN)
    bi, bj = block_index()
    m = bi * BM
    n = bj * BN

    # The four warps share the rows of a and divide the columns of b and c.
    warps = reduce(spatial(1, 1, 4), dims=[2])
    layout_a = warps.local(1, 4).column_local(2, 2).spatial(8, 4).local(1, 2)
    layout_b = spatial(1, 4).local(4, 1).local(2, 1).column_spatial(4, 8).local(2, 1)
    layout_c = spatial(1, 4).local(2, 1).spatial(8, 4).local(1, 2)
    layout_t = spatial(4).local(3).spatial(32)
    # Swizzled in chunks of 8 elements, the 16 bytes of one access.
    shared_layout_a = local(3, 1, 1).swizzle(local(16, 32), dim=1).local(1, 8)
    shared_layout_c = local(2, 1).swizzle(local(8, 4), dim=1, log_step=1).local(1, 8)
    shared_a = shared(f16, layout=shared_layout_a)
    shared_b = shared(u32, [STAGES, BK * BN * 6 // 32])
    acc = register(f32, layout=layout_c, init=0)

    for stage in range(STAGES - 1):
        if stage < K // BK:
            copy_async(shared_a[stage], a[m : m + BM, stage * BK : stage * BK + BK])
            copy_async(shared_b[stage], b[stage, bj, :])
        commit()
    wait(STAGES - 2)
    sync()

    words = UK * BN * 6 // 32
    current = 0
    preload = STAGES - 1
    for bk in range(K // BK):
        for u in range(BK // UK):
            ra = load(shared_a[current, :, u * UK : u * UK + UK], layout=layout_a)
            raw = load(shared_b[current, u * words : u * words + words], layout=layout_t)
            rb = view(raw, i6, layout=layout_b)
            acc += dot(ra, cast(rb, f16))
        ahead = bk + STAGES - 1
        if ahead < K // BK:
            copy_async(shared_a[preload], a[m : m + BM, ahead * BK : ahead * BK + BK])
            copy_async(shared_b[preload], b[ahead, bj, :])
        # An empty group at the end of K keeps the count of groups that wait relies on.
        commit()
        current = (current + 1) % STAGES
        preload = (preload + 1) % STAGES
        wait(STAGES - 2)
        sync()

    # Through shared memory, so that the threads write whole rows of c.
    shared_c = shared(f16, layout=shared_layout_c)
    shared_c[:, :] = cast(acc, f16)
    sync()
    c[m : m + BM, n : n + BN] = load(shared_c[:, :], layout=spatial(16, 8).local(1, 4))


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 32, 64, 1024
    a = rng.standard_normal((m, k)).astype(np.float16)
    codes = rng.integers(-32, 32, (k, n), np.int8)
    b = np.empty((k // 256, n // 32, 1536), np.uint32)
    tilus_rearrange_words(codes, b)
    c = np.empty((m, n), np.float16)
    start = time.perf_counter()
    tilus_pipelined(a, b, c)
    seconds = time.perf_counter() - start
    expected = a.astype(np.float32) @ codes.astype(np.float32)
    error = np.abs(c - expected).max() / np.abs(expected).max()
    print(f"f16 x i6 product {m} x {n} x {k}: relative error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
