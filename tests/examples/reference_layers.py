"""References of attention and of the programs."""

from __future__ import annotations

import numpy as np
from inputs import Dims, Problem, Rng, blank, normal
from near import U32, Near, exact, silu
from reference_rows import angles, normalised, rotated


def attention(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    batch, rows, length, width = d["B"], d["S"], d["L"], d["D"]
    q = normal(rng, (batch, rows, d["HQ"], width), dtype)
    k = normal(rng, (batch, length, d["HK"], width), dtype)
    v = normal(rng, (batch, length, d["HK"], width), dtype)
    past = rng.integers(0, length - rows + 1, batch).astype(np.int32)
    past[:1] = length - rows  # the keys are used up to the last
    scale = np.float32(width**-0.5)
    shared = np.arange(d["HQ"]) // (d["HQ"] // d["HK"])
    queries = exact(q.transpose(0, 2, 1, 3))
    keys = exact(k[:, :, shared].transpose(0, 2, 3, 1))
    values = exact(v[:, :, shared].transpose(0, 2, 1, 3)).value
    scores = (queries @ keys) * Near(np.float64(scale), 4 * U32)
    position = past[:, None, None, None] + np.arange(rows)[:, None]
    seen = np.arange(length) <= position
    top = np.where(seen, scores.value, -np.inf).max(-1, keepdims=True, initial=-1e9)
    p = np.where(seen, np.exp(scores.value - top), 0.0)
    total = p.sum(-1, keepdims=True)
    # The error of a score is relative in p, as is the rounding of the argument of exp2 and p's own
    # rounding to T; numbers below the normal ones of T round with an absolute error.
    spread = np.where(seen, top - scores.value, 0.0)
    slack = np.max(np.where(seen, scores.error, 0.0), -1, keepdims=True, initial=0)
    relative = np.expm1(2 * slack) + 4 * U32 * (spread + length + 16)
    weight = Near(p, p * relative).rounded(dtype)
    o = weight.value / total @ values
    error = (weight.error + p * relative) / total @ np.abs(values)
    expected = Near(o.transpose(0, 2, 1, 3), error.transpose(0, 2, 1, 3)).rounded(dtype)
    args = {"q": q, "k": k, "v": v, "past": past, "scale": scale, "o": blank(q.shape, dtype)}
    return Problem(args, {"o": expected})


def attention_input(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x, g = normal(rng, (d["S"], d["H"]), dtype), normal(rng, (d["H"],), dtype)
    columns = {"wq": d["Q"], "wk": d["KV"], "wv": d["KV"]}
    weights = {n: normal(rng, (d["H"], c), dtype, d["H"] ** -0.5) for n, c in columns.items()}
    cos_sin = angles(d["S"], d["D"])
    normed = normalised(x, g).rounded(dtype)
    q, k, v = ((normed @ exact(w)).rounded(dtype) for w in weights.values())
    outs = {n: blank((d["S"], c), dtype) for n, c in zip("qkv", columns.values(), strict=True)}
    q, k = (rotated(y, cos_sin).rounded(dtype) for y in (q, k))
    return Problem(
        {"x": x, "g": g, **weights, "cos_sin": cos_sin, **outs}, {"q": q, "k": k, "v": v}
    )


def mlp(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x, g = normal(rng, (d["S"], d["H"]), dtype), normal(rng, (d["H"],), dtype)
    wg = normal(rng, (d["H"], d["F"]), dtype, d["H"] ** -0.5)
    wu = normal(rng, (d["H"], d["F"]), dtype, d["H"] ** -0.5)
    wd = normal(rng, (d["F"], d["H"]), dtype, d["F"] ** -0.5)
    normed = normalised(x, g).rounded(dtype)
    gate, up = ((normed @ exact(w)).rounded(dtype) for w in (wg, wu))
    hidden = (silu(gate) * up).rounded(dtype)
    start = exact(x)
    residual = Near(start.value, (d["F"] + 1) * U32 * np.abs(start.value))
    expected = (residual + hidden @ exact(wd)).rounded(dtype)
    args = {"x": x, "g": g, "wg": wg, "wu": wu, "wd": wd, "y": blank(x.shape, dtype)}
    return Problem(args, {"y": expected})
