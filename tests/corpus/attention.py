"""Attention over whole sequences: arguments and meaning."""

from __future__ import annotations

import itertools

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, bfloat16, f64, normal, softmax

case = Family("attention")


def attend(q: Array, k: Array, v: Array, scale: float, seen: Array | bool = True) -> Array:
    """Of one head."""
    return softmax(np.where(seen, f64(q) @ f64(k).T * scale, -np.inf)) @ f64(v)


@case(near=4e-3)
def varlen_attention(rng: Generator) -> Trial:
    starts = np.array([0, 19, 20, 20, 53], np.int32)
    q, k, v = (normal(rng, 53, 2, 16, dtype=np.float16) for _ in range(3))
    o = np.zeros(q.shape)
    for a, b in itertools.pairwise(starts):
        causal = np.tri(b - a, dtype=bool)
        for h in range(2 if b > a else 0):
            o[a:b, h] = attend(q[a:b, h], k[a:b, h], v[a:b, h], 0.25, causal)
    args = {"q": q, "k": k, "v": v, "starts": starts, "longest": 33, "scale": 0.25}
    return Trial(args, {"o": o})


@case()
def window_attention(rng: Generator) -> Trial:
    h, hk, s, d = 4, 2, 50, 16
    q, k, v = (normal(rng, n, s, d, dtype=bfloat16) for n in (h, hk, hk))
    sink = normal(rng, h)
    gap = np.arange(s)[:, None] - np.arange(s)
    o = np.zeros(q.shape)
    for i in range(h):
        scores = 5 * np.tanh(f64(q[i]) @ f64(k[i // 2]).T / 4 / 5)
        scores = np.where((gap >= 0) & (gap < 20), scores, -np.inf)
        p = softmax(np.concatenate([scores, np.full((s, 1), sink[i])], 1))
        o[i] = p[:, :-1] @ f64(v[i // 2])
    return Trial({"q": q, "k": k, "v": v, "sink": sink}, {"o": o})


def flexible(rng: Generator, s: int, length: int) -> Trial:
    h, d = 3, 8
    q, k, v = normal(rng, h, s, d), normal(rng, h, length, d), normal(rng, h, length, d)
    row, column = np.arange(s)[:, None], np.arange(length)
    o = np.zeros(q.shape)
    for i in range(h):
        scores = f64(q[i]) @ f64(k[i]).T * 0.5 - 2 ** (-8 * (i + 1) / h) * np.abs(row - column)
        seen = (column <= row) | (column < 10)
        o[i] = softmax(np.where(seen, scores, -np.inf)) @ f64(v[i])
    return Trial({"q": q, "k": k, "v": v, "scale": 0.5}, {"o": o})


@case(near=1e-4)
def flex_attention(rng: Generator) -> Trial:
    return flexible(rng, 21, 37)


@case("flex_attention of one", kernel="flex_attention", near=1e-4)
def one_key(rng: Generator) -> Trial:
    return flexible(rng, 1, 1)


@case(near=1e-4)
def attention_with_lse(rng: Generator) -> Trial:
    q, k, v = normal(rng, 21, 8), normal(rng, 19, 8), normal(rng, 19, 8)
    lse = np.log(np.exp(f64(q) @ f64(k).T * 0.3).sum(1))
    return Trial({"q": q, "k": k, "v": v, "scale": 0.3}, {"o": attend(q, k, v, 0.3), "lse": lse})


@case(near=1e-4)
def attention_backward(rng: Generator) -> Trial:
    q, k, v, d = (normal(rng, n, 8) for n in (21, 35, 35, 21))
    scores = f64(q) @ f64(k).T * 0.3
    p = softmax(scores)
    lse = np.log(np.exp(scores).sum(1))
    dp = f64(d) @ f64(v).T
    # The Jacobian of softmax, row by row: diag(p) - p p^T.
    ds = np.array([(np.diag(a) - np.outer(a, a)) @ b for a, b in zip(p, dp, strict=True)]) * 0.3
    args = {"q": q, "k": k, "v": v, "d": d, "scale": 0.3}
    args |= {"o": (p @ f64(v)).astype("f4"), "lse": lse.astype("f4")}
    return Trial(args, {"dq": ds @ f64(k), "dk": ds.T @ f64(q), "dv": p.T @ f64(d)})
