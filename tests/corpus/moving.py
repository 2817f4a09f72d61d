"""Sorting, counting and moving elements: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Family, Generator, Trial, f64, normal

case = Family("moving")


@case()
def bitonic_sort(rng: Generator) -> Trial:
    x = normal(rng, 5, 32)
    return Trial({"x": x, "levels": 5}, {"y": np.sort(f64(x), 1)})


@case()
def rank_sort(rng: Generator) -> Trial:
    x = rng.integers(-9, 9, (4, 37)).astype(np.int32)
    return Trial({"x": x}, {"y": np.sort(x, 1), "order": np.argsort(x, 1, kind="stable")})


@case()
def histogram(rng: Generator) -> Trial:
    x = rng.integers(0, 256, 301, np.uint8)
    bins = rng.integers(0, 9, 256).astype(np.int32)
    return Trial({"x": x, "bins": bins}, {"bins": bins + np.bincount(x, minlength=256)})


@case()
def embedding_backward(rng: Generator) -> Trial:
    ids, d = np.array([3, 0, 3, 6, 3, 0, 1], np.int32), normal(rng, 7, 45)
    table = normal(rng, 7, 45)
    after = f64(table)
    np.add.at(after, ids, d)
    return Trial({"ids": ids, "d": d, "table": table}, {"table": after})


@case()
def embedding_bag(rng: Generator) -> Trial:
    ids, lengths = rng.integers(0, 20, (4, 6)).astype(np.int32), np.array([6, 0, 1, 4], np.int32)
    table = normal(rng, 20, 50, dtype=np.float16)
    y = [f64(table[i[:n]]).sum(0) / max(n, 1) for i, n in zip(ids, lengths, strict=True)]
    return Trial({"ids": ids, "lengths": lengths, "table": table}, {"y": np.array(y)})


@case()
def permute_axes(rng: Generator) -> Trial:
    x = normal(rng, 3, 21, 35, dtype=np.float16)
    return Trial({"x": x}, {"y": f64(x).transpose(2, 0, 1)})


@case()
def transpose_bytes(rng: Generator) -> Trial:
    x = rng.integers(0, 256, (37, 21), np.uint8)
    return Trial({"x": x}, {"y": x.T})


@case(near=1e-4)
def sum_everything(rng: Generator) -> Trial:
    x = normal(rng, 1999)
    owner = np.arange(1999) // 128 % 4
    parts = np.array([f64(x)[owner == p].sum() for p in range(4)])
    return Trial({"x": x}, {"parts": parts, "total": f64(x).sum(keepdims=True)})


@case()
def roll_rows(rng: Generator) -> Trial:
    x = rng.integers(-99, 99, (5, 53)).astype(np.int32)
    return Trial({"x": x, "shift": 7}, {"y": np.roll(x, 7, 1)})


@case()
def shift_in_place(rng: Generator) -> Trial:
    x = normal(rng, 5, 200)
    return Trial({"x": x}, {"x": np.roll(f64(x), -1, 1)})


@case()
def compact(rng: Generator) -> Trial:
    x = rng.integers(-9, 9, 101).astype(np.int32)
    y = np.zeros(101, np.int32)
    y[: (x > 0).sum()] = x[x > 0]
    return Trial({"x": x}, {"y": y, "count": np.array([(x > 0).sum()])})


@case(near=1e-4)
def segment_sum(rng: Generator) -> Trial:
    x, segment = normal(rng, 75, 20), rng.integers(0, 19, 75).astype(np.int32)
    y = np.array([f64(x)[segment == s].sum(0) for s in range(19)])
    return Trial({"x": x, "segment": segment}, {"y": y})


@case()
def bit_packing(rng: Generator) -> Trial:
    flags = rng.random((5, 77)) < 0.5
    bits = np.pad(flags, ((0, 0), (0, 19))).reshape(5, 3, 32)
    return Trial({"flags": flags}, {"words": (bits * 2 ** np.arange(32)).sum(2)})
