"""References of the 4-bit weights times 8-bit activations."""

from __future__ import annotations

import numpy as np
from inputs import Dims, Problem, Rng, blank, codes, normal
from near import U32, Array, Near, exact


def quantized_rows(x: Array) -> tuple[Array, Array]:
    """Codes and scales of the rows, where each step is one rounding of f32."""
    v = x.astype(np.float32)
    top = np.maximum(np.abs(v).max(1, initial=0), np.float32(1e-30))
    t = top / np.float32(127)
    return np.rint(v / t[:, None]).astype(np.int8), t


def near_rows(x: Array) -> tuple[Near, Near]:
    """The same with bounds: on Trainium a quotient is a product with the reciprocal, within 2 ulp.

    So a code may be its neighbour where the quotient lies next to the middle between them.
    """
    q, t = quantized_rows(x)
    r = x.astype(np.float64) / t[:, None]
    tie = np.abs(np.abs(r - np.rint(r)) - 0.5) <= 16 * U32 * np.abs(r)
    return Near(q.astype(np.float64), tie.astype(np.float64)), Near(t, 4 * U32 * np.abs(t))


def quantize_rows(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), dtype)
    x[:1] = 0  # a row without a scale
    q, t = near_rows(x)
    args = {"x": x, "q": np.full(x.shape, -1, np.int8), "t": blank(t.value.shape, "f32")}
    return Problem(args, {"q": q, "t": t})


def w4a8_product(codes: Near, t: Near, w: Array, s: Array, dtype: str) -> Near:
    """t * sum over groups of (q @ (w - 8)) * s: exact inside a group, f32 across."""
    groups, q = s.shape[0], codes.value
    total = Near(np.zeros((q.shape[0], w.shape[1])))
    for i in range(groups):
        rows = slice(i * (w.shape[0] // groups), (i + 1) * (w.shape[0] // groups))
        part = q[:, rows].astype(np.float64) @ (w[rows].astype(np.float64) - 8)
        most = np.abs(part) + np.abs(q[:, rows].astype(np.float64)) @ np.full(w[rows].shape, 8.0)
        # A group may be summed in several parts, each of which is scaled and added.
        other = np.broadcast_to(codes.error, q.shape)[:, rows] @ np.abs(
            w[rows].astype(np.float64) - 8
        )
        total = total + Near(part, 8 * U32 * most + other) * exact(s[i])
    return (
        total * Near(t.value[:, None], np.broadcast_to(t.error, t.value.shape)[:, None])
    ).rounded(dtype)


def gemm_w4a8_channel(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    q, t = quantized_rows(normal(rng, (d["M"], d["K"]), dtype))
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, d["N"]).astype(np.float32)
    args = {"q": q, "t": t, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": w4a8_product(exact(q), exact(t), w, s[None], dtype)})


def gemm_w4a8_group(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    q, t = quantized_rows(normal(rng, (d["M"], d["K"]), dtype))
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, (d["K"] // d["G"], d["N"])).astype(np.float32)
    args = {"q": q, "t": t, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": w4a8_product(exact(q), exact(t), w, s, dtype)})


def w4a8_channel(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), dtype)
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, d["N"]).astype(np.float32)
    args = {"x": x, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": w4a8_product(*near_rows(x), w, s[None], dtype)})


def w4a8_group(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), dtype)
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, (d["K"] // d["G"], d["N"])).astype(np.float32)
    args = {"x": x, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": w4a8_product(*near_rows(x), w, s, dtype)})
