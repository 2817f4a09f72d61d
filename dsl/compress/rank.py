"""The rank for a compression ratio, in whole blocks (NeuronMM, Eqs. 4 and 5)."""

from __future__ import annotations

import math

from dslc.compiler.diagnostics import error


def aligned_rank(k: int, n: int, ratio: float, block: int = 128, alpha: float = 0.5) -> int:
    """The rank r, a multiple of `block`, with which r (k + n) parameters are about (1 - ratio) k n.

    r = floor(k n (1 - ratio) / ((k + n) block) + alpha) block: alpha = 0.5 rounds to the nearest number
    of blocks, 0 never exceeds the ratio. The paper prints Eq. 5 without the floor inside, which gives
    1375 where its Table 6 has 1280. At least one block, and at most what k and n hold of them. DSL0797
    for a ratio that is not in [0, 1), a block below 1, or a matrix that has no block.
    """
    if not 0 <= ratio < 1 or block < 1:
        raise error(
            "DSL0797",
            f"no rank for a ratio of {ratio:g} and blocks of {block}",
            hint="the ratio is what is saved, from 0 up to 1; a block has at least one column",
        )
    most = min(k, n) // block
    if most < 1:
        raise error(
            "DSL0797",
            f"a weight of {k} x {n} has no block of {block}",
            hint=f"--block {1 << max(0, min(k, n).bit_length() - 1)} or smaller",
        )
    blocks = math.floor(k * n * (1 - ratio) / ((k + n) * block) + alpha)
    return min(max(blocks, 1), most) * block


def compression_ratio(k: int, n: int, rank: int) -> float:
    """The share of the parameters that factors of this rank save; negative where they add some."""
    return 1 - rank * (k + n) / (k * n)
