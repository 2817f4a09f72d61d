"""The weight rearrangement of the Tilus paper (its Figure 8), for its plain and its pipelined product.

A tile of weights is loaded in the layout that the tensor core wants, seen as whole bytes (words) of
each thread, and stored in one piece. Later the product loads these with wide accesses.

Corrected against the paper: the tile's layout is that of operand B (16 x 8 elements; the figure has
operand A's, written `column(2, 2)`), and the tile starts at column bj * BN (the figure has bj * BM).
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

BK, BN, K, N, UK = dims("BK BN K N UK")


@dslc.kernel(BK=16, BN=8)
def tilus_rearrange(
    b: tensor[i6, K, N, packed("row")], t: out[u8, K // BK, N // BN, BK * BN * 6 // 8]
) -> None:
    """What tilus_plain takes: tiles of 16 x 8 weights, 3 bytes a thread."""
    require(K % BK == 0)
    require(N % BN == 0)

    grid(K // BK, N // BN)
    bk, bj = block_index()
    k = bk * BK
    n = bj * BN
    w = load(b[k : k + BK, n : n + BN], layout=local(2, 1).column_spatial(4, 8).local(2, 1))
    t[bk, bj, :] = view(w, u8, layout=local(3).spatial(32))


@dslc.kernel(BK=256, BN=32, UK=64)
def tilus_rearrange_words(
    b: tensor[i6, K, N, packed("row")], t: out[u32, K // BK, N // BN, BK * BN * 6 // 32]
) -> None:
    """What tilus_pipelined takes: tiles of 256 x 32 weights, four times 3 words a thread."""
    require(K % BK == 0)
    require(N % BN == 0)

    grid(K // BK, N // BN)
    bk, bj = block_index()
    k = bk * BK
    n = bj * BN
    layout_b = spatial(1, 4).local(4, 1).local(2, 1).column_spatial(4, 8).local(2, 1)
    layout_t = spatial(4).local(3).spatial(32)
    words = UK * BN * 6 // 32
    for u in range(BK // UK):
        w = load(b[k + u * UK : k + u * UK + UK, n : n + BN], layout=layout_b)
        t[bk, bj, u * words : u * words + words] = view(w, u32, layout=layout_t)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    k, n = 256, 64
    codes = np.random.default_rng(0).integers(-32, 32, (k, n), np.int8)
    tiles = np.empty((k // 16, n // 8, 96), np.uint8)
    start = time.perf_counter()
    tilus_rearrange(codes, tiles)
    seconds = time.perf_counter() - start
    # Thread t of a tile has the weights of column t // 4 in rows 2 (t % 4) + {0, 1, 8, 9}: 24 bits,
    # of which byte i lies at 32 i + t.
    rows = 2 * (np.arange(32) % 4)[:, None] + [0, 1, 8, 9]
    weights = codes[:16, :8][rows, (np.arange(32) // 4)[:, None]].astype(np.int32) & 63
    words = weights @ (1 << np.array([0, 6, 12, 18]))
    error = np.abs(tiles[0, 0].astype(np.int32) - (words >> [[0], [8], [16]] & 255).ravel()).max()
    print(f"rearranged {k} x {n} weights: greatest error {error}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
