"""References of the three programs of the Tilus paper."""

from __future__ import annotations

import numpy as np
from inputs import Dims, Problem, Rng, blank, codes, normal
from near import Array, exact


def tilus_tiles(weights: Array, rows: int, columns: int, sub: int, word: int) -> Array:
    """Weights of 6 bits, rearranged by the definition of the tensor core's operand B.

    A block of `rows` x `columns` is stored in one piece, in sub-blocks of `sub` rows. In a sub-block
    thread t holds its elements in the order of mma.m16n8k16, little-endian; its bits are words of
    `word` bytes, stored word by word for the threads of a warp, one warp after another.
    """
    k, n = weights.shape
    warps = columns // 8
    lane = np.arange(32)
    rows_of = 2 * (lane % 4)[:, None] + [0, 1, 8, 9]  # [thread, element] within 16 x 8
    size = 8 * word
    out = np.zeros(
        (k // rows, n // columns, rows // sub, warps, sub * 6 // 4 // size, 32), np.uint64
    )
    for index in np.ndindex(*out.shape[:4]):
        bk, bj, u, warp = index
        block = weights[bk * rows + u * sub :][:sub, bj * columns + warp * 8 :][:, :8]
        steps = block.reshape(sub // 16, 16, 8)[:, rows_of, (lane // 4)[:, None]]
        elements = steps.transpose(1, 0, 2).reshape(32, -1).astype(np.int64) & 63
        for t in range(32):
            bits = sum(int(e) << (6 * i) for i, e in enumerate(elements[t]))
            for i in range(out.shape[4]):
                out[(*index, i, t)] = bits >> (size * i) & ((1 << size) - 1)
    return out.reshape(k // rows, n // columns, -1).astype(np.uint8 if word == 1 else np.uint32)


def tilus_rearrange(rng: Rng, d: Dims, **_: str) -> Problem:
    b, _value = codes(rng, (d["K"], d["N"]), "i6")
    expected = tilus_tiles(b, 16, 8, 16, 1)
    return Problem({"b": b, "t": np.zeros_like(expected)}, {"t": exact(expected)})


def tilus_rearrange_words(rng: Rng, d: Dims, **_: str) -> Problem:
    b, _value = codes(rng, (d["K"], d["N"]), "i6")
    expected = tilus_tiles(b, 256, 32, 64, 4)
    return Problem({"b": b, "t": np.zeros_like(expected)}, {"t": exact(expected)})


def tilus_plain(rng: Rng, d: Dims, **_: str) -> Problem:
    return tilus_product(rng, d, 16, 8, 16, 1)


def tilus_pipelined(rng: Rng, d: Dims, **_: str) -> Problem:
    return tilus_product(rng, d, 256, 32, 64, 4)


def tilus_product(rng: Rng, d: Dims, rows: int, columns: int, sub: int, word: int) -> Problem:
    a = normal(rng, (d["M"], d["K"]), "f16")
    w, _value = codes(rng, (d["K"], d["N"]), "i6")
    expected = (exact(a) @ exact(w)).rounded("f16")
    tiles = tilus_tiles(w, rows, columns, sub, word)
    return Problem({"a": a, "b": tiles, "c": blank((d["M"], d["N"]), "f16")}, {"c": expected})
