"""Caches and decoding: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.attention import attend
from corpus.cases import Family, Generator, Trial, bfloat16, f64, normal, softmax

case = Family("serving")


@case()
def reshape_and_cache(rng: Generator) -> Trial:
    k, cache = normal(rng, 6, 2, 10, dtype=np.float16), normal(rng, 4, 8, 2, 10, dtype=np.float16)
    slots = np.array([31, 0, -1, 8, 15, 22], np.int32)
    after = f64(cache).reshape(32, 2, 10)
    for row, slot in zip(k, slots, strict=True):
        if slot >= 0:
            after[slot] = row
    return Trial({"k": k, "slots": slots, "cache": cache}, {"cache": after.reshape(4, 8, 2, 10)})


@case(near=4e-3)
def paged_decode(rng: Generator) -> Trial:
    q = normal(rng, 3, 8, 32, dtype=np.float16)
    k, v = (normal(rng, 7, 16, 2, 32, dtype=np.float16) for _ in range(2))
    pages = np.array([[6, 2, 3], [0, 0, 0], [5, 1, 0]], np.int32)
    lengths = np.array([41, 1, 32], np.int32)
    o = np.zeros(q.shape)
    for b, n in enumerate(lengths):
        own_k, own_v = (x[pages[b]].reshape(48, 2, 32)[:n] for x in (k, v))
        for h in range(8):
            o[b, h] = attend(q[b, h : h + 1], own_k[:, h // 4], own_v[:, h // 4], 0.2)[0]
    args = {"q": q, "k": k, "v": v, "pages": pages, "lengths": lengths, "scale": 0.2}
    return Trial(args, {"o": o})


@case()
def mla_decode(rng: Generator) -> Trial:
    q, c = normal(rng, 2, 18, 80, dtype=bfloat16), normal(rng, 2, 50, 80, dtype=bfloat16)
    lengths = np.array([50, 13], np.int32)
    o = np.array([attend(q[b], c[b, :n], c[b, :n, :64], 0.1) for b, n in enumerate(lengths)])
    return Trial({"q": q, "c": c, "lengths": lengths, "scale": 0.1}, {"o": o})


@case(near=1e-4)
def splitkv_decode(rng: Generator) -> Trial:
    q, k, v = normal(rng, 4, 16), normal(rng, 45, 16), normal(rng, 45, 16)
    spans = [slice(i, i + 16) for i in range(0, 45, 16)]
    part = np.array([attend(q, k[s], v[s], 0.25) for s in spans])
    lse = np.array([np.log(np.exp(f64(q) @ f64(k[s]).T * 0.25).sum(1)) for s in spans])
    wanted = {"o": attend(q, k, v, 0.25), "part": part, "lse": lse}
    return Trial({"q": q, "k": k, "v": v, "scale": 0.25}, wanted)


@case()
def merge_states(rng: Generator) -> Trial:
    a, b = (normal(rng, 5, 4, 24, dtype=np.float16) for _ in range(2))
    x, y = normal(rng, 5, 4) * 3, normal(rng, 5, 4) * 3
    x[0, 0] = -np.inf  # there were no keys
    w = softmax(np.stack([f64(x), f64(y)]), 0)[..., None]
    wanted = {"o": f64(a) * w[0] + f64(b) * w[1], "lse": np.logaddexp(f64(x), f64(y))}
    return Trial({"a": a, "a_lse": x, "b": b, "b_lse": y}, wanted)


@case(near=4e-3)
def tree_attention(rng: Generator) -> Trial:
    tokens, past, h, d = 7, 25, 2, 16
    parents = [-1, 0, 0, 1, 1, 2, 5]
    seen = np.zeros((tokens, tokens), bool)
    for i in range(tokens):
        j = i
        while j >= 0:
            seen[i, j] = True
            j = parents[j]
    q = normal(rng, tokens, h, d, dtype=np.float16)
    k, v = (normal(rng, past + tokens, h, d, dtype=np.float16) for _ in range(2))
    whole = np.concatenate([np.ones((tokens, past), bool), seen], 1)
    o = np.stack([attend(q[:, i], k[:, i], v[:, i], 0.25, whole) for i in range(h)], 1)
    mask = (seen * 2 ** np.arange(tokens)).sum(1).astype(np.uint32)
    args = {"q": q, "k": k, "v": v, "mask": mask, "scale": 0.25}
    return Trial(args, {"o": o})


@case(near=6e-3)
def int4_cache_decode(rng: Generator) -> Trial:
    q = normal(rng, 8, 32, dtype=np.float16)
    k, v = (rng.integers(0, 16, (45, 32), np.uint8) for _ in range(2))
    ks, vs = (
        np.stack([rng.uniform(0.1, 0.2, 45), rng.uniform(-1.5, -1, 45)], 1).astype(np.float16)
        for _ in range(2)
    )
    keys, vals = (f64(c) * s[:, :1] + f64(s)[:, 1:] for c, s in ((k, ks), (v, vs)))
    args = {"q": q, "k": k, "v": v, "ks": ks, "vs": vs}
    return Trial(args, {"o": attend(q, keys, vals, 32**-0.5)})
