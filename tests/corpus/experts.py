"""Mixtures of experts and adapters: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, bfloat16, f64, normal, sigmoid, softmax

case = Family("experts")


@case()
def topk_gating(rng: Generator) -> Trial:
    logits = normal(rng, 11, 20)
    p = softmax(f64(logits))
    ids = np.argsort(-p, 1)[:, :3]
    w = np.take_along_axis(p, ids, 1)
    args = {"logits": logits, "weights": np.zeros(ids.shape, np.float32)}
    return Trial(args, {"weights": w / w.sum(1, keepdims=True), "ids": ids})


def aligned(ids: Array) -> tuple[Array, Array, int]:
    """Places and experts of the blocks, and how many places are used."""
    runs = []
    experts = []
    for e in range(5):
        run = list(np.flatnonzero(ids == e))
        blocks = -(-len(run) // 8)
        runs += run + [len(ids)] * (8 * blocks - len(run))
        experts += [e] * blocks
    places = np.full(72, len(ids), np.int32)
    places[: len(runs)] = runs
    blocks_of = np.full(9, -1, np.int32)
    blocks_of[: len(experts)] = experts
    return places, blocks_of, len(runs)


@case()
def moe_align(rng: Generator) -> Trial:
    ids = rng.choice([0, 1, 2, 4], 37).astype(np.int32)
    places, expert_of, used = aligned(ids)
    return Trial({"ids": ids}, {"places": places, "expert_of": expert_of, "used": np.array([used])})


@case()
def fused_moe(rng: Generator) -> Trial:
    x, w = normal(rng, 37, 40, dtype=bfloat16), normal(rng, 5, 40, 50, dtype=bfloat16)
    ids, weights = rng.integers(0, 5, 37).astype(np.int32), rng.random(37, "f4")
    places, expert_of, _ = aligned(ids)
    y = np.array([f64(r) @ f64(w[e]) * f for r, e, f in zip(x, ids, weights, strict=True)])
    args = {"x": x, "w": w, "places": places, "expert_of": expert_of, "weights": weights}
    return Trial(args, {"y": y})


@case()
def moe_combine(rng: Generator) -> Trial:
    parts, own = normal(rng, 7, 3, 50, dtype=bfloat16), normal(rng, 7, 50, dtype=bfloat16)
    weights = rng.random((7, 3), "f4")
    y = f64(own) + (f64(parts) * f64(weights)[..., None]).sum(1)
    return Trial({"parts": parts, "weights": weights, "shared_part": own}, {"y": y})


@case()
def group_limited_scores(rng: Generator) -> Trial:
    scores, bias = normal(rng, 5, 24), normal(rng, 24)
    s = sigmoid(f64(scores))
    sums = np.sort((s + bias).reshape(5, 4, 6), 2)[:, :, -2:].sum(2)
    alive = sums >= np.sort(sums, 1)[:, 2:3]
    return Trial({"scores": scores, "bias": bias}, {"kept": s * np.repeat(alive, 6, 1)})


@case(near=4e-3)
def lora(rng: Generator) -> Trial:
    x, w, a, b = (
        normal(rng, *s, dtype=np.float16) / 4 for s in ((19, 72), (72, 45), (72, 16), (16, 45))
    )
    y = f64(x) @ (f64(w) + 2 * f64(a) @ f64(b))
    return Trial({"x": x, "w": w, "a": a, "b": b, "scale": 2.0}, {"y": y})


@case()
def bgmv(rng: Generator) -> Trial:
    x, a = normal(rng, 5, 100, dtype=np.float16), normal(rng, 3, 100, 8, dtype=np.float16)
    ids, old = np.array([2, -1, 0, 2, 1], np.int32), normal(rng, 5, 8)
    y = f64(old)
    for i, n in enumerate(ids):
        if n >= 0:
            y[i] += 0.5 * f64(x[i]) @ f64(a[n])
    return Trial({"x": x, "a": a, "ids": ids, "scale": 0.5, "y": old}, {"y": y})
