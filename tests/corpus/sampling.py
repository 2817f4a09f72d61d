"""From logits to tokens: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Family, Generator, Trial, f64, normal, softmax

case = Family("sampling")


@case()
def token_bitmask(rng: Generator) -> Trial:
    logits, bits = normal(rng, 3, 77), rng.integers(0, 2**32, (3, 3), np.uint32)
    flags = bits[:, np.arange(77) // 32] >> (np.arange(77) % 32).astype(np.uint32) & 1
    wanted = {"logits": np.where(flags == 1, f64(logits), -np.inf)}
    return Trial({"logits": logits, "allowed": bits}, wanted)


@case()
def repetition_penalty(rng: Generator) -> Trial:
    logits, seen = normal(rng, 3, 150), rng.integers(0, 150, (3, 9)).astype(np.int32)
    wide = f64(logits)
    hit = (seen[:, None] == np.arange(150)[:, None]).any(2)
    moved = np.where(hit, np.where(wide > 0, wide / 1.5, wide * 1.5), wide)
    return Trial({"logits": logits, "seen": seen, "penalty": 1.5}, {"logits": moved})


def greatest(rng: Generator, b: int, v: int) -> Trial:
    logits = np.round(normal(rng, b, v) * 4).astype(np.float16)
    return Trial({"logits": logits}, {"token": logits.argmax(1), "top": f64(logits).max(1)})


@case()
def greedy(rng: Generator) -> Trial:
    return greatest(rng, 4, 301)


@case("greedy of one", kernel="greedy")
def one_token(rng: Generator) -> Trial:
    return greatest(rng, 1, 1)


@case()
def top_k(rng: Generator) -> Trial:
    x = normal(rng, 3, 201)
    ids = np.argsort(-x, 1)[:, :5]
    return Trial({"x": x}, {"ids": ids, "values": np.take_along_axis(f64(x), ids, 1)})


@case()
def top_p_sampling(rng: Generator) -> Trial:
    probs = softmax(normal(rng, 4, 90) * 2)
    p, u = np.array([0.5, 0.9, 0.1, 0.99], np.float32), np.array([0.3, 0.7, 0.9, 0.05], np.float32)
    tokens = []
    for row, mass, goal in zip(f64(probs), p, u, strict=True):
        order = np.argsort(-row)
        kept = order[: 1 + np.searchsorted(np.cumsum(row[order]), mass)]
        sums = np.cumsum(np.where(np.isin(np.arange(90), kept), row, 0))
        tokens.append(np.searchsorted(sums, goal * sums[-1], "right"))
    return Trial({"probs": probs, "threshold": p, "uniform": u}, {"token": np.array(tokens)})


def mixed(x: int) -> int:
    x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
    x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


@case()
def min_p_gumbel(rng: Generator) -> Trial:
    logits = normal(rng, 5, 100) * 2
    u = np.array(
        [
            [((mixed((b * 100 + v) ^ 12345) >> 8) + 0.5) / 2**24 for v in range(100)]
            for b in range(5)
        ]
    )
    p = softmax(f64(logits))
    noisy = np.where(p >= 0.05 * p.max(1, keepdims=True), logits - np.log(-np.log(u)), -np.inf)
    return Trial({"logits": logits, "min_p": 0.05, "seed": 12345}, {"token": noisy.argmax(1)})


@case()
def argmin_columns(rng: Generator) -> Trial:
    x = rng.integers(-9, 9, (37, 45)).astype(np.int32)
    return Trial({"x": x}, {"at": x.argmin(0), "low": x.min(0)})


@case()
def masked_softmax(rng: Generator) -> Trial:
    x, lengths = normal(rng, 6, 77, dtype=np.float16), np.array([77, 1, 0, 30, 64, 5], np.int32)
    y = np.zeros(x.shape)
    for row, n, own in zip(y, lengths, f64(x), strict=True):
        if n:
            row[:n] = softmax(own[:n] / 0.7)
    return Trial({"x": x, "lengths": lengths, "heat": 0.7}, {"y": y})


@case()
def speculative_accept(rng: Generator) -> Trial:
    draft, target = (softmax(normal(rng, 6, 4, 20)) for _ in range(2))
    tokens, u = rng.integers(0, 20, (6, 4)).astype(np.int32), rng.random((6, 4), "f4") * 0.8
    p, q = (np.take_along_axis(x, tokens[..., None], 2)[..., 0] for x in (target, draft))
    accepted = np.cumprod(u * q < p, 1).sum(1)
    args = {"draft": draft, "target": target, "tokens": tokens, "uniform": u}
    return Trial(args, {"accepted": accepted})
