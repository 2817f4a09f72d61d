"""References of attention and of the programs."""

from __future__ import annotations

import numpy as np
from inputs import Dims, Problem, Rng, blank, normal
from near import U32, Array, Near, exact, silu
from reference_rows import angles, normalised, rotated

_WIDTH = 64  # of a head in decoder_layer


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
    position = past[:, None, None, None] + np.arange(rows)[:, None]
    o = _attended(queries, keys, values, position, scale, dtype)
    error = np.broadcast_to(o.error, o.value.shape)
    expected = Near(o.value.transpose(0, 2, 1, 3), error.transpose(0, 2, 1, 3)).rounded(dtype)
    args = {"q": q, "k": k, "v": v, "past": past, "scale": scale, "o": blank(q.shape, dtype)}
    return Problem(args, {"o": expected})


def _attended(
    queries: Near, keys: Near, values: Array, position: Array, scale: np.float32, dtype: str
) -> Near:
    """softmax(scale queries keys, masked to key <= position) values, over leading axes, in f32."""
    length = keys.value.shape[-1]
    scores = (queries @ keys) * Near(np.float64(scale), 4 * U32)
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
    error = (weight.error + p * relative) / total @ np.abs(values)
    return Near(weight.value / total @ values, error)


_LOG2_E = 1.4426950408889634


def attention_parts(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    """Sums, greatest scores and weights of parts: those of blocks of 64 keys, an equal number each."""
    given = attention(rng, d, dtype).args
    q, k, v, past, scale = (given[n] for n in ("q", "k", "v", "past", "scale"))
    shared = np.arange(d["HQ"]) // (d["HQ"] // d["HK"])
    queries = exact(q.transpose(0, 2, 1, 3))
    scores = queries @ exact(k[:, :, shared].transpose(0, 2, 3, 1))
    scores = scores * Near(np.float64(scale) * _LOG2_E, 8 * U32)
    values = exact(v[:, :, shared].transpose(0, 2, 1, 3)).value
    position = past[:, None, None, None] + np.arange(d["S"])[:, None]
    each = np.ceil(np.ceil((past + d["S"]) / d["P"]) / 64).astype(int) * 64
    part = (np.arange(d["L"]) // each[:, None])[:, None, None]
    expected: dict[str, list[Near]] = {"o": [], "top": [], "total": []}
    for p in range(d["P"]):
        seen = (np.arange(d["L"]) <= position) & (part == p)
        none = np.float64(np.float32(-1e30)) * np.float64(scale) * _LOG2_E
        top = np.where(seen, scores.value, none).max(-1, keepdims=True)
        weight = np.exp2(np.where(seen, scores.value - top, -np.inf))
        error = np.where(seen, scores.error, 0.0)
        slack = error.max(-1, keepdims=True, initial=0) + 4 * U32 * np.abs(top)
        off = np.where(seen.any(-1, keepdims=True), slack, 0.0)
        spread = np.where(seen, top - scores.value, 0.0)
        relative = np.expm1(2 * off) + 8 * U32 * (spread + d["L"] + 16)
        rounded = Near(weight, weight * relative).rounded(dtype)
        sums = Near(weight @ values, (rounded.error + weight * relative) @ np.abs(values))
        for name, made in (
            ("o", sums),
            ("top", Near(top[..., 0], slack[..., 0])),
            ("total", Near(weight.sum(-1), (weight * relative).sum(-1))),
        ):
            expected[name].append(made)
    found = {n: _stacked(every) for n, every in expected.items()}
    outputs = {n: blank(x.value.shape, "f32") for n, x in found.items()}
    args = {"q": q, "k": k, "v": v, "past": past, "scale": scale, **outputs}
    return Problem(args, found)


def _stacked(parts: list[Near]) -> Near:
    """Parts [B, H, S, ...] as one tensor [B, P, S, H, ...]."""
    value = np.stack([np.swapaxes(x.value, 1, 2) for x in parts], 1)
    errors = [np.broadcast_to(x.error, x.value.shape) for x in parts]
    return Near(value, np.stack([np.swapaxes(e, 1, 2) for e in errors], 1))


def join_parts(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    shape = (d["B"], d["P"], d["S"], d["HQ"])
    o = normal(rng, (*shape, d["D"]), "f32")
    top, total = (rng.uniform(low, 8, shape).astype(np.float32) for low in (-8, 1))
    top[:, 1:][rng.random(shape)[:, 1:] < 0.2] = -1e29  # a part without keys
    highest = top.astype(np.float64).max(1, keepdims=True)
    share = Near(np.exp2(top - highest), 64 * U32 * np.exp2(top - highest))
    weights = (share * exact(total)).sum(1)
    sums = (Near(share.value[..., None], share.error[..., None]) * exact(o)).sum(1)
    size = np.abs(sums.value) / weights.value[..., None]
    error = (sums.error + size * weights.error[..., None]) / weights.value[..., None]
    y = Near((sums.value / weights.value[..., None])[:, 0], (error + 8 * U32 * size)[:, 0])
    args = {"o": o, "top": top, "total": total, "y": blank(y.value.shape, dtype)}
    return Problem(args, {"y": y.rounded(dtype)})


def attention_decode(rng: Rng, d: Dims, dtype: str, **more: str) -> Problem:
    posed = attention(rng, d, dtype, **more)
    args = {n if n != "o" else "y": a for n, a in posed.args.items()}
    slack = 64 * U32 * np.abs(posed.expected["o"].value)
    return Problem(args, {"y": Near(posed.expected["o"].value, posed.expected["o"].error + slack)})


def _attended_rows(q: Array, k: Array, v: Array, position: Array, dtype: str, width: int) -> Near:
    """The same of rows that hold heads side by side, rounded."""
    rows, heads, shared = q.shape[0], q.shape[1] // width, q.shape[1] // k.shape[1]
    queries = exact(q.reshape(rows, heads, width).transpose(1, 0, 2))
    keys = exact(np.repeat(k.reshape(len(k), -1, width), shared, 1).transpose(1, 2, 0))
    values = exact(np.repeat(v.reshape(len(v), -1, width), shared, 1).transpose(1, 0, 2)).value
    o = _attended(queries, keys, values, position, np.float32(width**-0.5), dtype)
    error = np.broadcast_to(o.error, o.value.shape).transpose(1, 0, 2).reshape(q.shape)
    return Near(o.value.transpose(1, 0, 2).reshape(q.shape), error).rounded(dtype)


def flash_attention(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    q = normal(rng, (d["S"], d["Q"]), dtype)
    k, v = (normal(rng, (d["L"], d["KV"]), dtype) for _ in "kv")
    expected = _attended_rows(q, k, v, np.arange(d["S"])[:, None], dtype, _WIDTH)
    return Problem({"q": q, "k": k, "v": v, "o": blank(q.shape, dtype)}, {"o": expected})


def attention_step(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    q = normal(rng, (1, d["Q"]), dtype)
    k, v = (normal(rng, (d["L"], d["KV"]), dtype) for _ in "kv")
    last = np.array([rng.integers(0, d["L"])], np.int32)
    expected = _attended_rows(q, k, v, last[:, None], dtype, _WIDTH)
    args = {"q": q, "k": k, "v": v, "last": last, "o": blank(q.shape, dtype)}
    return Problem(args, {"o": expected})


def _weights(rng: Rng, d: Dims, dtype: str) -> dict[str, Array]:
    shapes = {"wo": ("Q", "H"), "wg": ("H", "F"), "wu": ("H", "F"), "wd": ("F", "H")}
    return {n: normal(rng, (d[a], d[b]), dtype, d[a] ** -0.5) for n, (a, b) in shapes.items()}


def _after_attention(o: Near, x: Array, g: Array, weights: dict[str, Array], dtype: str) -> Near:
    """What a layer does after attention, rounded between its kernels."""
    h = _added(o, x, weights["wo"], dtype)
    error = np.broadcast_to(h.error, h.value.shape)
    root = np.sqrt((h.value**2).mean(1, keepdims=True) + 1e-6)
    off = np.sqrt((error**2).mean(1, keepdims=True))
    size = np.abs(g.astype(np.float64)) / (root - off)
    value = h.value / root * g.astype(np.float64)
    moved = size * (error + np.abs(h.value) * off / (root - off))
    normed = Near(value, moved + (x.shape[1] + 16) * U32 * np.abs(value)).rounded(dtype)
    gate, up = ((normed @ exact(weights[n])).rounded(dtype) for n in ("wg", "wu"))
    return _added((silu(gate) * up).rounded(dtype), h, weights["wd"], dtype)


def _added(a: Near, residual: Array | Near, w: Array, dtype: str) -> Near:
    """residual + a w, rounded once."""
    start = residual if isinstance(residual, Near) else exact(residual)
    slack = start.error + (w.shape[0] + 1) * U32 * np.abs(start.value)
    return (Near(start.value, slack) + a @ exact(w)).rounded(dtype)


def output_ffn(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    o, x = normal(rng, (d["S"], d["Q"]), dtype), normal(rng, (d["S"], d["H"]), dtype)
    g, weights = normal(rng, (d["H"],), dtype), _weights(rng, d, dtype)
    expected = _after_attention(exact(o), x, g, weights, dtype)
    wo = weights.pop("wo")
    args = {"o": o, "wo": wo, "x": x, "g": g, **weights, "y": blank(x.shape, dtype)}
    return Problem(args, {"y": expected})


def decode_layer(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    step = attention_step(rng, d, dtype)
    x, g, weights = (
        normal(rng, (1, d["H"]), dtype),
        normal(rng, (d["H"],), dtype),
        _weights(rng, d, dtype),
    )
    expected = _after_attention(step.expected["o"], x, g, weights, dtype)
    given = {n: a for n, a in step.args.items() if n != "o"}
    wo = weights.pop("wo")
    args = {**given, "wo": wo, "x": x, "g": g, **weights, "y": blank(x.shape, dtype)}
    return Problem(args, {"y": expected})


def logits(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), dtype)
    b = normal(rng, (d["K"], d["N"]), dtype, d["K"] ** -0.5)
    args = {"a": a, "b": b, "c": blank((d["M"], d["N"]), "f32")}
    return Problem(args, {"c": exact(a) @ exact(b)})


def lm_head(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x, g = normal(rng, (d["S"], d["H"]), dtype), normal(rng, (d["H"],), dtype)
    weights = [normal(rng, (d["H"], d["P"]), dtype, d["H"] ** -0.5) for _ in range(8)]
    normed = normalised(x, g).rounded(dtype)
    expected = {f"y{i}": normed @ exact(w) for i, w in enumerate(weights)}
    named = {f"w{i}": w for i, w in enumerate(weights)}
    outputs = {n: blank((d["S"], d["P"]), "f32") for n in expected}
    return Problem({"x": x, "g": g, **named, **outputs}, expected)


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
