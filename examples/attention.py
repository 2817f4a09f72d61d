"""Causal attention with grouped query heads, block by block over the keys (Dao, 2023).

One kernel for prefill (past is 0), chunked prefill and decode (S is 1): past[b] keys of sequence b
stand before its first query. Sequences padded on the right need no lengths: what a query sees ends
at its own position.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
LOG2_E, BS, BL, B, S, HQ, D, L, HK = dims("LOG2_E BS BL B S HQ D L HK")


@dslc.kernel(LOG2_E=1.4426950408889634, BS=[64, 16, 128], BL=[64, 32, 128, 80, 160])
def attention(
    q: tensor[T, B, S, HQ, D],
    k: tensor[T, B, L, HK, D],
    v: tensor[T, B, L, HK, D],
    past: tensor[i32, B],
    scale: f32,
    o: out[T, B, S, HQ, D],
) -> None:
    """o = softmax(scale * q @ k^T, masked to key <= past + query) @ v, for each sequence and head."""
    require(HQ % HK == 0)
    require(scale > 0)

    for b, h, s in parallel(range(B), range(HQ), range(0, S, BS)):
        start = past[b]
        assert start + S <= L, "the keys end before the last query"
        j = h // (HQ // HK)  # HQ // HK query heads share a key head
        queries = q[b, s : s + BS, h, :]
        position = arange(BS) + s + start
        factor = scale * LOG2_E
        top = full(f32, [BS], -inf)
        total = zeros(f32, [BS])
        acc = zeros(f32, [BS, D])
        # Blocks of keys that no query of this turn sees are not visited.
        for l in range(0, start + min(s + BS, S), BL):
            scores = dot(queries, k[b, l : l + BL, j, :], transposed="b")
            scores = where(arange(BL) + l <= position[:, None], scores, -inf)
            higher = maximum(top, max(scores, 1))
            # Machines have exp2 and fma: e^(scale * (x - highest)) is one of each.
            highest = higher * factor
            shrink = exp2(fma(top, factor, -highest))
            p = exp2(fma(scores, factor, -highest[:, None]))
            total = total * shrink + sum(p, 1)
            acc = acc * shrink[:, None] + dot(cast(p, T), v[b, l : l + BL, j, :])
            top = higher
        o[b, s : s + BS, h, :] = cast(acc * (1 / total)[:, None], T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    batch, heads, key_heads, width, keys = 2, 8, 2, 64, 200
    k = rng.standard_normal((batch, keys, key_heads, width)).astype(np.float16)
    v = rng.standard_normal((batch, keys, key_heads, width)).astype(np.float16)
    scale = width**-0.5
    for name, queries, past in (("prefill", 200, [0, 0]), ("decode", 1, [199, 57])):
        q = rng.standard_normal((batch, queries, heads, width)).astype(np.float16)
        o = np.empty_like(q)
        start = time.perf_counter()
        attention(q, k, v, np.array(past, np.int32), scale, o)
        seconds = time.perf_counter() - start
        shared = np.arange(heads) // (heads // key_heads)  # the key head of each query head
        scores = np.einsum("bshd,blhd->bhsl", q, k[:, :, shared], dtype=np.float32) * scale
        position = np.array(past)[:, None, None, None] + np.arange(queries)[:, None]
        p = np.exp(np.where(np.arange(keys) <= position, scores, -np.inf))
        p /= p.sum(-1, keepdims=True)
        error = np.abs(o - np.einsum("bhsl,blhd->bshd", p, v[:, :, shared])).max()
        print(f"{name} of {q.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
