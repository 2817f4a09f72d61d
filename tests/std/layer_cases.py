"""Layers of the library: small calls of their kernels, and what they mean in NumPy and f64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from std.kernels import Array, Trial, case, half, normal, wide

Wide = NDArray[np.float64]


def silu(x: Wide) -> Wide:
    return np.asarray(x / (1 + np.exp(-x)))


@case
def linear__linear(rng: np.random.Generator) -> Trial:
    x, w = half(rng, 5, 72), half(rng, 40, 72)
    return Trial({"x": x, "w": w}, {"y": wide(x) @ wide(w).T})


@case
def linear__linear__all(rng: np.random.Generator) -> Trial:
    args = {
        "x": half(rng, 5, 72),
        "w": half(rng, 40, 72),
        "b": half(rng, 40),
        "up": half(rng, 40, 72),
    }
    args |= {"lora_a": half(rng, 8, 72), "lora_b": half(rng, 40, 8)}
    x, w, b, up, lora_a, lora_b = map(wide, args.values())
    y = silu(x @ (w + 0.5 * lora_b @ lora_a).T + b) * (x @ up.T) / 16
    args["up"] = (args["up"] / 16).astype(np.float16)
    return Trial({**args, "lora_scale": 0.5}, {"y": y}, {"ACTIVATION": "silu"})


def quantized(rng: np.random.Generator, name: str = "") -> tuple[dict[str, Array], Wide]:
    """Codes of 4 bits with scales and zero points for each 64 rows, and the numbers that they mean."""
    w, z = (rng.integers(0, 16, (rows, 48)).astype(np.uint8) for rows in (128, 2))
    s = (rng.uniform(0.5, 1, (2, 48)) / 32).astype(np.float16)
    meant = (wide(w) - np.repeat(wide(z), 64, 0)) * np.repeat(wide(s), 64, 0)
    return {name or "w": w, f"{name}_s".lstrip("_"): s, f"{name}_z".lstrip("_"): z}, meant


@case
def linear__linear_quantized(rng: np.random.Generator) -> Trial:
    x, (codes, w) = half(rng, 5, 128), quantized(rng)
    return Trial({"x": x, **codes}, {"y": wide(x) @ w}, {"G": 64}, {"BK": 64})


@case
def linear__linear_quantized__all(rng: np.random.Generator) -> Trial:
    x, (codes, w), (more, up) = half(rng, 5, 128), quantized(rng), quantized(rng, "up")
    a, low, b = half(rng, 128, 8), half(rng, 8, 48) / 4, half(rng, 48)
    args = {"x": x, **codes, **more, "lora_a": a, "lora_b": low, "b": b, "lora_scale": 0.25}
    y = silu(wide(x) @ (w + 0.25 * wide(a) @ wide(low)) + b) * (wide(x) @ up)
    return Trial(args, {"y": y}, {"G": 64, "ACTIVATION": "silu"}, {"BK": 128})


@case
def linear__linear_quantized__mx(rng: np.random.Generator) -> Trial:
    x, w = half(rng, 5, 64), rng.integers(0, 16, (64, 40)).astype(np.uint8)
    s = rng.integers(123, 127, (2, 40)).astype(np.uint8)
    meant = wide(w.view(ml_dtypes.float4_e2m1fn)) * np.repeat(2.0 ** (wide(s) - 127), 32, 0)
    define = {"W": "f4e2m1", "S": "e8m0", "G": 32}
    return Trial({"x": x, "w": w, "s": s}, {"y": wide(x) @ meant}, define, {"BK": 64})


@case
def linear__linear_quantized__nvfp4(rng: np.random.Generator) -> Trial:
    x, w = half(rng, 5, 64), rng.integers(0, 16, (64, 40)).astype(np.uint8)
    s = rng.uniform(1, 200, (4, 40)).astype(ml_dtypes.float8_e4m3fn)
    meant = wide(w.view(ml_dtypes.float4_e2m1fn)) * np.repeat(wide(s), 16, 0)
    define = {"W": "f4e2m1", "S": "f8e4m3", "G": 16}
    args = {"x": x, "w": w, "s": s, "t": 1 / 256}
    return Trial(args, {"y": wide(x) @ meant / 256}, define, {"BK": 64})


@case
def linear__linear_i8(rng: np.random.Generator) -> Trial:
    x, w = rng.integers(-127, 128, (5, 128)).astype(np.int8), rng.integers(0, 16, (128, 48))
    t, s = rng.uniform(0.5, 1, (5, 1)) / 127, rng.uniform(0.5, 1, (2, 48)) / 32
    y = (x * t) @ ((w - 8) * np.repeat(s, 64, 0))
    args = {"x": x, "t": t.astype(np.float32), "w": w.astype(np.uint8), "s": s.astype(np.float32)}
    return Trial(args, {"y": y}, {"G": 64}, {"BK": 64})


@case
def linear__linear_backward_input(rng: np.random.Generator) -> Trial:
    dy, w = half(rng, 5, 40), half(rng, 40, 72)
    return Trial({"dy": dy, "w": w}, {"dx": wide(dy) @ wide(w)})


@case
def linear__linear_backward_weight(rng: np.random.Generator) -> Trial:
    dy, x = half(rng, 21, 40), half(rng, 21, 72)
    return Trial({"dy": dy, "x": x}, {"dw": wide(dy).T @ wide(x), "db": wide(dy).sum(0)})


@case
def gated__gated(rng: np.random.Generator) -> Trial:
    gate, up = half(rng, 5, 72), half(rng, 5, 72)
    return Trial({"gate": gate, "up": up}, {"y": silu(wide(gate)) * up})


@case
def gated__gated_backward(rng: np.random.Generator) -> Trial:
    dy, gate, up = half(rng, 5, 72), half(rng, 5, 72), half(rng, 5, 72)
    s = 1 / (1 + np.exp(-wide(gate)))
    slope = s * (1 + wide(gate) * (1 - s))
    wanted = {"dgate": wide(dy) * up * slope, "dup": wide(dy) * silu(wide(gate))}
    return Trial({"dy": dy, "gate": gate, "up": up}, wanted)


@case
def embeddings__embedding(rng: np.random.Generator) -> Trial:
    ids, table = np.array([3, 0, -1, 8, 3], np.int32), half(rng, 9, 72)
    y = np.where(ids[:, None] >= 0, table[ids], 0)
    return Trial({"ids": ids, "table": table}, {"y": y})


@case
def embeddings__embedding_backward(rng: np.random.Generator) -> Trial:
    ids, dy = np.array([3, 0, -1, 8, 3], np.int32), half(rng, 5, 72)
    sums = np.zeros((9, 72))
    np.add.at(sums, ids[ids >= 0], wide(dy)[ids >= 0])
    return Trial({"ids": ids, "dy": dy, "dtable": np.zeros((9, 72), np.float32)}, {"dtable": sums})


def gated_sums(g: Array, u: Array, state: Array) -> Wide:
    rows, now = [], wide(state)
    for s in range(g.shape[1]):
        now = g[:, s] * now + u[:, s]
        rows.append(now)
    return np.stack(rows, 1)


@case
def recurrences__gated_sum(rng: np.random.Generator) -> Trial:
    g, u = rng.uniform(0.5, 1, (2, 21, 40)).astype(np.float32), normal(rng, 2, 21, 40)
    state = normal(rng, 2, 40)
    h = gated_sums(g, u, state)
    return Trial({"g": g, "u": u, "state": state}, {"h": h, "state": h[:, -1]})


@case
def recurrences__gated_sum_backward(rng: np.random.Generator) -> Trial:
    g, u = rng.uniform(0.5, 1, (2, 21, 40)).astype(np.float32), normal(rng, 2, 21, 40)
    h, dh = gated_sums(g, u, np.zeros((2, 40))), normal(rng, 2, 21, 40)
    gates = np.concatenate([g[:, 1:], np.zeros((2, 1, 40))], 1)
    du = gated_sums(gates[:, ::-1], dh[:, ::-1], np.zeros((2, 40)))[:, ::-1]
    before = np.concatenate([np.zeros((2, 1, 40)), h[:, :-1]], 1)
    args = {"g": g, "h": h.astype(np.float32), "dh": dh}
    return Trial(args, {"du": du, "dg": du * before})


@case
def recurrences__selective_scan(rng: np.random.Generator) -> Trial:
    u, dt, z = half(rng, 2, 5, 24), half(rng, 2, 5, 24), half(rng, 2, 5, 24)
    a, b, c = -np.abs(normal(rng, 24, 8)), half(rng, 2, 5, 8), half(rng, 2, 5, 8)
    d, bias, state = normal(rng, 24), normal(rng, 24), normal(rng, 2, 24, 8)
    now, y = wide(state), np.zeros(u.shape)
    for s in range(5):
        step = np.logaddexp(wide(dt)[:, s] + bias, 0)
        now = np.exp(step[..., None] * a) * now + (step * u[:, s])[..., None] * wide(b)[:, s, None]
        row = (now * wide(c)[:, s, None]).sum(-1) + d * u[:, s]
        y[:, s] = row * silu(wide(z)[:, s])
    args = {"u": u, "dt": dt, "a": a, "b": b, "c": c, "d": d, "z": z, "dt_bias": bias}
    return Trial({**args, "state": state}, {"y": y, "state": now})


def states(
    q: Array, k: Array, v: Array, decay: Array, state: Array, beta: Array | None
) -> tuple[Wide, Wide]:
    """Of a linear attention row by row: outputs and the last state."""
    queries, keys = (np.repeat(wide(x), 2, 2) for x in (q, k))
    now, o = wide(state), np.zeros(v.shape)
    for s in range(q.shape[1]):
        now = np.exp(wide(decay)[:, s, :, None, None]) * now
        new = wide(v)[:, s]
        if beta is not None:
            new = beta[:, s, :, None] * (new - np.einsum("bhnp,bhn->bhp", now, keys[:, s]))
        now = now + keys[:, s, ..., None] * new[..., None, :]
        o[:, s] = np.einsum("bhnp,bhn->bhp", now, queries[:, s])
    return o, now


@case
def recurrences__linear_attention(rng: np.random.Generator) -> Trial:
    q, k, v = half(rng, 1, 21, 1, 16), half(rng, 1, 21, 1, 16), half(rng, 1, 21, 2, 24) / 4
    decay, state = -np.abs(normal(rng, 1, 21, 2)) / 4, normal(rng, 1, 2, 16, 24)
    o, now = states(q, k, v, decay, state, None)
    args = {"q": q, "k": k, "v": v, "decay": decay, "state": state.copy()}
    return Trial(args, {"o": o, "state": now}, {}, {"BS": 16, "BP": 32})


@case
def recurrences__gated_delta_rule(rng: np.random.Generator) -> Trial:
    q, k, v = half(rng, 1, 5, 1, 16), half(rng, 1, 5, 1, 16), half(rng, 1, 5, 2, 24)
    k = (k / np.linalg.norm(wide(k), axis=-1, keepdims=True)).astype(np.float16)
    decay, state = -np.abs(normal(rng, 1, 5, 2)) / 4, normal(rng, 1, 2, 16, 24)
    beta = rng.uniform(0, 1, (1, 5, 2)).astype(np.float32)
    o, now = states(q, k, v, decay, state, beta)
    args = {"q": q, "k": k, "v": v, "decay": decay, "beta": beta, "state": state.copy()}
    return Trial(args, {"o": o, "state": now})
