"""Mixtures of experts of the library: small calls of their kernels, and their meaning in NumPy."""

from __future__ import annotations

import numpy as np

from std.kernels import F32, Array, Trial, case, half, normal, softmax_of, wide


@case
def experts__route(rng: np.random.Generator) -> Trial:
    logits = normal(rng, 6, 8)
    ids = np.argsort(-logits, 1, kind="stable")[:, :2]
    weights = softmax_of(np.take_along_axis(wide(logits), ids, 1))
    return Trial({"logits": logits}, {"weights": weights, "ids": ids}, F32)


def aligned(ids: Array, experts: int, places: int) -> tuple[Array, Array, Array]:
    at, of, ends = np.full(places, len(ids)), np.full(places // 16, -1), np.zeros(experts)
    first = 0
    for e in range(experts):
        mine = np.flatnonzero(ids == e)
        at[first : first + len(mine)] = mine
        of[first // 16 : (first + len(mine) + 15) // 16] = e
        first += -(-len(mine) // 16) * 16
        ends[e] = first
    return at.astype(np.int32), of.astype(np.int32), ends.astype(np.int32)


@case
def experts__align(rng: np.random.Generator) -> Trial:
    ids = rng.integers(0, 3, 21).astype(np.int32)
    at, of, ends = aligned(ids, 3, 80)
    return Trial({"ids": ids}, {"places": at, "expert_of": of, "ends": ends})


@case
def experts__expert_linear(rng: np.random.Generator) -> Trial:
    x, w = half(rng, 10, 40), half(rng, 3, 40, 24)
    ids = rng.integers(0, 3, 20).astype(np.int32)
    at, of, _ = aligned(ids, 3, 80)
    wanted = np.stack([wide(x)[c // 2] @ wide(w)[ids[c]] for c in range(20)])
    return Trial({"x": x, "w": w, "places": at, "expert_of": of}, {"y": wanted}, {"PER": 2})


@case
def experts__expert_linear__all(rng: np.random.Generator) -> Trial:
    x, b = half(rng, 10, 64), half(rng, 3, 24)
    codes = [rng.integers(-7, 8, (3, 64, 24)).astype(np.int8) for _ in "wu"]
    scales = [(rng.uniform(0.5, 1, (3, 2, 24)) / 32).astype(np.float16) for _ in "wu"]
    w, up = (wide(c) * np.repeat(wide(s), 32, 1) for c, s in zip(codes, scales, strict=True))
    ids = rng.integers(0, 3, 20).astype(np.int32)
    at, of, _ = aligned(ids, 3, 80)
    rows = np.repeat(wide(x), 2, 0)[:, None]
    gate = (rows @ w[ids])[:, 0] + b[ids]
    y = gate / (1 + np.exp(-gate)) * (rows @ up[ids])[:, 0]
    args = {"x": x, "w": codes[0], "s": scales[0], "up": codes[1], "up_s": scales[1], "b": b}
    define = {"PER": 2, "W": "i4", "ACTIVATION": "silu"}
    return Trial({**args, "places": at, "expert_of": of}, {"y": y}, define)


@case
def experts__combine(rng: np.random.Generator) -> Trial:
    parts, weights = half(rng, 5, 2, 72), normal(rng, 5, 2)
    return Trial(
        {"parts": parts, "weights": weights}, {"y": (wide(parts) * wide(weights)[..., None]).sum(1)}
    )


@case
def experts__grouped_linear(rng: np.random.Generator) -> Trial:
    a, w, ends = half(rng, 21, 40), half(rng, 3, 40, 24), np.array([4, 4, 21], np.int32)
    wanted = np.concatenate([wide(a)[:4] @ wide(w)[0], wide(a)[4:] @ wide(w)[2]])
    return Trial({"a": a, "w": w, "ends": ends}, {"c": wanted})


@case
def experts__grouped_backward_input(rng: np.random.Generator) -> Trial:
    dc, w, ends = half(rng, 21, 24), half(rng, 3, 40, 24), np.array([4, 4, 21], np.int32)
    wanted = np.concatenate([wide(dc)[:4] @ wide(w)[0].T, wide(dc)[4:] @ wide(w)[2].T])
    return Trial({"dc": dc, "w": w, "ends": ends}, {"da": wanted})


@case
def experts__grouped_backward_weight(rng: np.random.Generator) -> Trial:
    dc, a, ends = half(rng, 21, 24), half(rng, 21, 40), np.array([4, 4, 21], np.int32)
    parts = ((0, 4), (4, 4), (4, 21))
    wanted = np.stack([wide(a)[i:j].T @ wide(dc)[i:j] for i, j in parts])
    return Trial({"dc": dc, "a": a, "ends": ends}, {"dw": wanted})
