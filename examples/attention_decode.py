"""Attention of one or a few new tokens over long caches (Dao and others, Flash-Decoding, 2023).

With few queries the time is that of reading keys and values, so all of a machine must read. The keys
of a sequence are divided among so many turns that all of a machine have one, and those of a turn among
WAYS warps, each with a maximum and sums of its own. The heads of a group are rows of one product and
share what is read. A second kernel joins the parts.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
LOG2_E, WAYS, BL, BH, BD = dims("LOG2_E WAYS BL BH BD")
B, S, L, P, HQ, HK, D = dims("B S L P HQ HK D")


@dslc.kernel(LOG2_E=1.4426950408889634, WAYS=4, BL=64)
def attention_parts(
    q: tensor[T, B, S, HQ, D],
    k: tensor[T, B, L, HK, D],
    v: tensor[T, B, L, HK, D],
    past: tensor[i32, B],
    scale: f32,
    o: out[f32, B, P, S, HQ, D],
    top: out[f32, B, P, S, HQ],
    total: out[f32, B, P, S, HQ],
) -> None:
    """Of each part of the keys: the sums of values, the greatest score, the sum of weights."""
    require(HQ % HK == 0)
    require(scale > 0)

    for b, j, p in parallel(range(B), range(HK), range(P)):
        group = HQ // HK  # heads that share keys
        start = past[b]
        assert start + S <= L, "the keys end before the last query"
        rows = reshape(q[b, :, j * group : j * group + group, :], [S * group, D])
        queries = broadcast(rows, [WAYS, S * group, D])
        position = repeat(arange(S), group, 0) + start
        factor = scale * LOG2_E
        each = cdiv(cdiv(start + S, P), BL) * BL
        highest = full(f32, [WAYS, S * group], -1e30)
        weights = zeros(f32, [WAYS, S * group])
        acc = zeros(f32, [WAYS, S * group, D])
        for l in range(p * each, min(p * each + each, start + S), BL):
            keys = reshape(k[b, l : l + BL, j, :], [WAYS, BL // WAYS, D])
            values = reshape(v[b, l : l + BL, j, :], [WAYS, BL // WAYS, D])
            scores = dot(queries, keys, transposed="b")
            key = reshape(arange(BL) + l, [WAYS, 1, BL // WAYS])
            scores = where(key <= position[:, None], scores, -inf)
            higher = maximum(highest, max(scores, 2))
            shift = higher * factor
            shrink = exp2((highest - higher) * factor)
            e = exp2(fma(scores, factor, -shift[:, :, None]))
            weights = weights * shrink + sum(e, 2)
            acc = acc * shrink[:, :, None] + dot(cast(e, T), values)
            highest = higher
        most = max(highest, 0)
        share = exp2((highest - most) * factor)
        o[b, p, :, j * group : j * group + group, :] = reshape(
            sum(acc * share[:, :, None], 0), [S, group, D]
        )
        top[b, p, :, j * group : j * group + group] = reshape(most * factor, [S, group])
        total[b, p, :, j * group : j * group + group] = reshape(sum(weights * share, 0), [S, group])


@dslc.kernel(BH=[1, 8], BD=64)
def join_parts(
    o: tensor[f32, B, P, S, HQ, D],
    top: tensor[f32, B, P, S, HQ],
    total: tensor[f32, B, P, S, HQ],
    y: out[T, B, S, HQ, D],
) -> None:
    """y = the parts' sums over the sums of their weights, all relative to one greatest score."""

    for b, s, h, d in parallel(range(B), range(S), range(0, HQ, BH), range(0, D, BD)):
        highest = full(f32, [BH], -1e30)
        weights = zeros(f32, [BH])
        acc = zeros(f32, [BH, BD])
        for p in range(0, P, 16 // BH):
            tops = top[b, p : p + 16 // BH, s, h : h + BH]
            tops = where((arange(16 // BH) + p < P)[:, None], tops, -1e30)
            higher = maximum(highest, max(tops, 0))
            shrink = exp2(highest - higher)
            share = exp2(tops - higher)
            weights = weights * shrink + sum(total[b, p : p + 16 // BH, s, h : h + BH] * share, 0)
            part = o[b, p : p + 16 // BH, s, h : h + BH, d : d + BD] * share[:, :, None]
            acc = acc * shrink[:, None] + sum(part, 0)
            highest = higher
        y[b, s, h : h + BH, d : d + BD] = cast(acc / weights[:, None], T)


@dslc.program
def attention_decode(
    q: tensor[T, B, S, HQ, D],
    k: tensor[T, B, L, HK, D],
    v: tensor[T, B, L, HK, D],
    past: tensor[i32, B],
    scale: f32,
    y: out[T, B, S, HQ, D],
) -> None:
    """y = softmax(scale * q @ k^T, masked to key <= past + query) @ v, for each sequence and head."""
    o = buffer(f32, [B, max(1, min(64, turns_at_once() // (B * HK))), S, HQ, D])
    top = buffer(f32, [B, max(1, min(64, turns_at_once() // (B * HK))), S, HQ])
    total = buffer(f32, [B, max(1, min(64, turns_at_once() // (B * HK))), S, HQ])
    attention_parts(q, k, v, past, scale, o, top, total)
    join_parts(o, top, total, y)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    batch, heads, key_heads, width, keys = 2, 8, 2, 64, 500
    q = rng.standard_normal((batch, 1, heads, width)).astype(np.float16)
    k, v = (
        rng.standard_normal((batch, keys, key_heads, width)).astype(np.float16) for _ in range(2)
    )
    past = np.array([499, 57], np.int32)
    y = np.empty_like(q)
    start = time.perf_counter()
    attention_decode(q, k, v, past, width**-0.5, y)
    seconds = time.perf_counter() - start
    shared = np.arange(heads) // (heads // key_heads)  # the key head of each query head
    scores = np.einsum("bshd,blhd->bhsl", q, k[:, :, shared], dtype=np.float32) * width**-0.5
    p = np.exp(np.where(np.arange(keys) <= past[:, None, None, None], scores, -np.inf))
    p /= p.sum(-1, keepdims=True)
    error = np.abs(y - np.einsum("bhsl,blhd->bshd", p, v[:, :, shared])).max()
    print(f"{q.shape} over {keys} keys: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
