"""Attention over some of the keys: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.attention import attend
from corpus.cases import Family, Generator, Trial, bfloat16, f64, normal, small, softmax

case = Family("selected")


@case(near=4e-3)
def block_sparse_attention(rng: Generator) -> Trial:
    q, k, v = (normal(rng, 2, 64, 16, dtype=np.float16) for _ in range(3))
    blocks = np.array([rng.permutation(4)[:3] for _ in range(8)], np.int32).reshape(2, 4, 3)
    counts = np.array([[1, 3, 2, 3], [3, 0, 1, 2]], np.int32)
    o = np.zeros(q.shape)
    for h, s in np.ndindex(2, 4):
        at = (blocks[h, s, : counts[h, s], None] * 16 + np.arange(16)).reshape(-1)
        rows = slice(16 * s, 16 * s + 16)
        if len(at):
            o[h, rows] = attend(q[h, rows], k[h, at], v[h, at], 0.25)
    args = {"q": q, "k": k, "v": v, "blocks": blocks, "counts": counts, "scale": 0.25}
    return Trial(args, {"o": o})


@case()
def nsa_selected(rng: Generator) -> Trial:
    q = normal(rng, 41, 4, 16, dtype=bfloat16)
    k, v = normal(rng, 41, 16, dtype=bfloat16), normal(rng, 41, 16, dtype=bfloat16)
    chosen = np.array([rng.permutation(3)[:2] for _ in range(41)], np.int32)
    chosen[:, 1] = np.where(
        chosen[:, 0] == 0, chosen[:, 1], 0
    )  # the first block is always among them
    chosen[5] = -1, 0  # a negative number is none
    o = np.zeros(q.shape)
    for s in range(41):
        block = np.arange(41) // 16
        seen = np.isin(block, chosen[s]) & (np.arange(41) <= s)
        o[s] = attend(q[s], k, v, 0.25, seen)
    return Trial({"q": q, "k": k, "v": v, "chosen": chosen, "scale": 0.25}, {"o": o})


@case(near=4e-3)
def sage_attention(rng: Generator) -> Trial:
    q, k = (
        rng.integers(-127, 128, (2, 21, 32), np.int8),
        rng.integers(-127, 128, (2, 45, 32), np.int8),
    )
    qs, ks = rng.random((2, 21), "f4") / 150, rng.random((2, 45), "f4") / 150
    v = normal(rng, 2, 45, 32, dtype=np.float16)
    scores = f64(q) @ f64(k).transpose(0, 2, 1) * f64(qs)[..., None] * ks[:, None]
    return Trial({"q": q, "qs": qs, "k": k, "ks": ks, "v": v}, {"o": softmax(scores) @ f64(v)})


@case(near=1e-4)
def index_scores(rng: Generator) -> Trial:
    q, k = (
        small(normal(rng, 5, 8, 32), "float8_e4m3fn"),
        small(normal(rng, 45, 32), "float8_e4m3fn"),
    )
    ks, w = rng.random(45, "f4"), normal(rng, 5, 8)
    score = np.einsum("shl,sh->sl", np.maximum(np.einsum("shd,ld->shl", f64(q), f64(k)), 0), w)
    return Trial({"q": q, "k": k, "ks": ks, "w": w}, {"score": score * ks})


@case()
def pooled_keys(rng: Generator) -> Trial:
    k, w = normal(rng, 75, 40, dtype=bfloat16), normal(rng, 32, dtype=bfloat16) / 4
    w = w.astype(bfloat16)
    y = np.array([f64(w) @ f64(k[i : i + 32]) for i in range(0, 75 - 31, 16)])
    return Trial({"k": k, "w": w}, {"y": y})
