"""For each kernel of examples/: random inputs of given dims, and what a correct run gives.

A problem function takes a random generator, the dims and the element types, and gives the arguments
in the kernel's order and the expected outputs by name. Outputs start as NaN (or -1), so that an
element that was not written is seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from near import U32, Array, Near, exact, silu

Dims = dict[str, int]
Rng = np.random.Generator

NUMPY: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


@dataclass(frozen=True)
class Problem:
    """The arguments of one call, by name in the kernel's order, and the expected outputs."""

    args: dict[str, Any]
    expected: dict[str, Near]


def normal(rng: Rng, shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Array:
    """Standard normal numbers times `scale`, as arrays of an element type."""
    return (rng.standard_normal(shape) * scale).astype(NUMPY[dtype])


def blank(shape: tuple[int, ...], dtype: str) -> Array:
    """An output before the call."""
    return np.full(shape, np.nan, NUMPY[dtype])


# Weights of every type


def codes(rng: Rng, shape: tuple[int, ...], dtype: str) -> tuple[Array, Array]:
    """Random finite codes of a low-bit type as a caller gives them, and their values."""
    if dtype[0] in "iu":
        bits = int(dtype[1:])
        low = -(1 << (bits - 1)) if dtype[0] == "i" else 0
        storage = np.int8 if dtype[0] == "i" else np.uint8
        drawn = rng.integers(low, low + (1 << bits), shape).astype(storage)
        return drawn, drawn.astype(np.float64)
    every = np.arange(1 << int(dtype[1]), dtype=np.uint8)
    values = np.array([float_value(int(code), dtype) for code in every])
    finite = every[np.isfinite(values)]
    drawn = rng.choice(finite, shape)
    return drawn, values[drawn]


def float_value(code: int, dtype: str) -> float:
    """What a code of fNeXmY means, NaN for the codes of infinities and NaN."""
    found = re.fullmatch(r"f(\d)e(\d)m(\d)", dtype)
    assert found, dtype
    bits, exponent_bits, mantissa_bits = map(int, found.groups())
    sign = -1.0 if code >> (bits - 1) else 1.0
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = code & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    last = exponent == (1 << exponent_bits) - 1
    if last and (dtype in ("f8e5m2", "f8e3m4") or (dtype == "f8e4m3" and mantissa == 7)):
        return np.nan
    fraction = mantissa / (1 << mantissa_bits)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)


# Elementwise and rows


def vector_add(rng: Rng, d: Dims, **_: str) -> Problem:
    x, y = normal(rng, (d["N"],), "f32"), normal(rng, (d["N"],), "f32")
    return Problem({"x": x, "y": y, "z": blank(x.shape, "f32")}, {"z": exact(x + y)})


def softmax(rng: Rng, d: Dims, T: str) -> Problem:
    x = normal(rng, (d["M"], d["N"]), T, 4.0)
    v = x.astype(np.float64)
    top = v.max(1, keepdims=True, initial=-1e9)
    e = np.exp(v - top)
    p = e / e.sum(1, keepdims=True)
    # exp makes the rounding of its argument a relative error; each block rescales the sum once.
    relative = U32 * (4 * (top - v) + d["N"] + 64)
    return Problem({"x": x, "y": blank(x.shape, T)}, {"y": Near(p, p * relative).rounded(T)})


def normalised(x: Array, g: Array) -> Near:
    """The rows of x divided by their root mean square, times g, in f32."""
    v = exact(x)
    width = x.shape[1]
    value = v.value / np.sqrt((v.value**2).mean(1, keepdims=True) + 1e-6) * g.astype(np.float64)
    return Near(value, (width + 16) * U32 * np.abs(value))


def rmsnorm(rng: Rng, d: Dims, T: str) -> Problem:
    x, g = normal(rng, (d["M"], d["H"]), T), normal(rng, (d["H"],), T)
    return Problem({"x": x, "g": g, "y": blank(x.shape, T)}, {"y": normalised(x, g).rounded(T)})


def layernorm(rng: Rng, d: Dims, T: str) -> Problem:
    x, g, b = normal(rng, (d["M"], d["H"]), T), normal(rng, (d["H"],), T), normal(rng, (d["H"],), T)
    x += NUMPY[T](3)  # a mean that is not 0
    v = exact(x).value
    mean = exact(x).sum()
    centred = v - mean.value / d["H"]
    deviation = np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    error = mean.error / d["H"] + 2 * U32 * np.abs(v)  # of the centred row
    relative = error.max(1, keepdims=True, initial=0) / deviation + (d["H"] + 16) * U32
    scaled = centred / deviation
    row = Near(scaled, error / deviation + np.abs(scaled) * relative) * exact(g) + exact(b)
    return Problem({"x": x, "g": g, "b": b, "y": blank(x.shape, T)}, {"y": row.rounded(T)})


def angles(rows: int, width: int) -> Array:
    """The cosines and the sines of RoPE's angles at positions 0, 1, ... side by side."""
    frequency = 10_000.0 ** (-np.arange(width // 2) / max(width // 2, 1))
    angle = np.outer(np.arange(rows), frequency)
    return np.concatenate([np.cos(angle), np.sin(angle)], 1).astype(np.float32)


def rotated(x: Near, cos_sin: Array, interleaved: bool = False) -> Near:
    """Each head of x, the width of cos_sin, rotated; in f32."""
    rows, columns = x.value.shape
    half = cos_sin.shape[1] // 2
    c, s = exact(cos_sin[:, None, :half]), exact(cos_sin[:, None, half:])
    if interleaved:
        pairs = x.reshape(rows, -1, half, 2)
        a, b = pairs[..., 0], pairs[..., 1]
    else:
        pairs = x.reshape(rows, -1, 2, half)
        a, b = pairs[:, :, 0], pairs[:, :, 1]
    first, second = a * c - b * s, b * c + a * s
    axis = 3 if interleaved else 2
    value = np.stack([first.value, second.value], axis).reshape(rows, columns)
    return Near(value, np.stack([first.error, second.error], axis).reshape(rows, columns))


def rope(rng: Rng, d: Dims, T: str, interleaved: bool = False) -> Problem:
    x, cos_sin = normal(rng, (d["S"], d["Q"]), T), angles(d["S"], d["D"])
    expected = rotated(exact(x), cos_sin, interleaved).rounded(T)
    return Problem({"x": x, "cos_sin": cos_sin}, {"x": expected})


def rope_interleaved(rng: Rng, d: Dims, T: str) -> Problem:
    return rope(rng, d, T, interleaved=True)


def swiglu(rng: Rng, d: Dims, T: str) -> Problem:
    gate, up = normal(rng, (d["M"], d["F"]), T, 3.0), normal(rng, (d["M"], d["F"]), T)
    expected = (silu(exact(gate)) * exact(up)).rounded(T)
    return Problem({"gate": gate, "up": up, "y": blank(gate.shape, T)}, {"y": expected})


# Products


def gemm(rng: Rng, d: Dims, T: str) -> Problem:
    a, b = normal(rng, (d["M"], d["K"]), T), normal(rng, (d["K"], d["N"]), T)
    expected = (exact(a) @ exact(b)).rounded(T)
    return Problem({"a": a, "b": b, "c": blank((d["M"], d["N"]), T)}, {"c": expected})


def gemm_residual(rng: Rng, d: Dims, T: str) -> Problem:
    a, b = normal(rng, (d["M"], d["K"]), T), normal(rng, (d["K"], d["N"]), T)
    r = normal(rng, (d["M"], d["N"]), T)
    product = exact(a) @ exact(b)
    # The sum begins with r: one more term, and each partial sum may be that much greater.
    start = Near(r.astype(np.float64), (d["K"] + 1) * U32 * np.abs(r.astype(np.float64)))
    expected = (start + product).rounded(T)
    return Problem({"a": a, "b": b, "r": r, "c": blank(r.shape, T)}, {"c": expected})


def gemm_i8(rng: Rng, d: Dims, **_: str) -> Problem:
    a = rng.integers(-128, 128, (d["M"], d["K"])).astype(np.int8)
    b = rng.integers(-128, 128, (d["K"], d["N"])).astype(np.int8)
    c = np.full((d["M"], d["N"]), -1, np.int32)
    expected = Near((a.astype(np.int64) @ b.astype(np.int64)).astype(np.float64))
    return Problem({"a": a, "b": b, "c": c}, {"c": expected})


def splitk_bias(rng: Rng, d: Dims, T: str) -> Problem:
    a, b = normal(rng, (d["M"], d["K"]), T), normal(rng, (d["K"], d["N"]), T)
    bias = normal(rng, (d["N"],), T)
    expected = (exact(a) @ exact(b) + exact(bias)).rounded(T)
    args = {"a": a, "b": b, "bias": bias, "c": blank((d["M"], d["N"]), T)}
    return Problem(args, {"c": expected})


def gemm_quantized(rng: Rng, d: Dims, T: str, W: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), T)
    w, value = codes(rng, (d["K"], d["N"]), W)
    s = scales(rng, (d["K"] // d["G"], d["N"]), T, value)
    # The kernel rounds each weight to T: a product of two numbers of T is exact before that.
    b = (value * np.repeat(s.astype(np.float64), d["G"], 0)).astype(NUMPY[T])
    expected = (exact(a) @ exact(b)).rounded(T)
    args = {"a": a, "w": w, "s": s, "c": blank((d["M"], d["N"]), T)}
    return Problem(args, {"c": expected})


def gemm_quantized_zeros(rng: Rng, d: Dims, T: str, W: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), T)
    w, value = codes(rng, (d["K"], d["N"]), W)
    z, zero = codes(rng, (d["K"] // d["G"], d["N"]), W)
    s = scales(rng, (d["K"] // d["G"], d["N"]), T, value)
    shifted = (value - np.repeat(zero, d["G"], 0)).astype(NUMPY[T]).astype(np.float64)
    b = (shifted * np.repeat(s.astype(np.float64), d["G"], 0)).astype(NUMPY[T])
    expected = (exact(a) @ exact(b)).rounded(T)
    args = {"a": a, "w": w, "s": s, "z": z, "c": blank((d["M"], d["N"]), T)}
    return Problem(args, {"c": expected})


def scales(rng: Rng, shape: tuple[int, ...], T: str, weights: Array) -> Array:
    """Scales that bring weights to about 1, so that no product overflows f16."""
    return (rng.uniform(0.5, 1.0, shape) / max(np.abs(weights).max(initial=0), 1)).astype(NUMPY[T])


# Low rank


def lowrank(rng: Rng, d: Dims, T: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), T)
    u, v = factors(rng, d["K"], d["R"], d["N"], T)
    low = (exact(x) @ exact(u)).rounded(T)
    args = {"x": x, "u": u, "v": v, "y": blank((d["M"], d["N"]), T)}
    return Problem(args, {"y": (low @ exact(v)).rounded(T)})


def lowrank_mlp(rng: Rng, d: Dims, T: str) -> Problem:
    x = normal(rng, (d["M"], d["H"]), T)
    gate_u, gate_v = factors(rng, d["H"], d["P"], d["F"], T)
    up_u, up_v = factors(rng, d["H"], d["Q"], d["F"], T)
    down_u, down_v = factors(rng, d["F"], d["R"], d["H"], T)
    gate = (exact(x) @ exact(gate_u)).rounded(T) @ exact(gate_v)
    up = (exact(x) @ exact(up_u)).rounded(T) @ exact(up_v)
    hidden = (silu(gate) * up).rounded(T)
    down = (hidden @ exact(down_u)).rounded(T) @ exact(down_v)
    args = {"x": x, "gate_u": gate_u, "gate_v": gate_v, "up_u": up_u, "up_v": up_v}
    args |= {"down_u": down_u, "down_v": down_v, "y": blank(x.shape, T)}
    return Problem(args, {"y": down.rounded(T)})


def factors(rng: Rng, rows: int, rank: int, columns: int, T: str) -> tuple[Array, Array]:
    """Two factors that keep the magnitude of what they multiply."""
    u = normal(rng, (rows, rank), T, max(rows, 1) ** -0.5)
    return u, normal(rng, (rank, columns), T, max(rank, 1) ** -0.5)


# 4-bit weights, 8-bit activations


def quantized_rows(x: Array) -> tuple[Array, Array]:
    """Codes and scales of the rows; each step is one rounding of f32, so they are exact."""
    v = x.astype(np.float32)
    top = np.maximum(np.abs(v).max(1, initial=0), np.float32(1e-30))
    t = top / np.float32(127)
    return np.rint(v / t[:, None]).astype(np.int8), t


def quantize_rows(rng: Rng, d: Dims, T: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), T)
    x[:1] = 0  # a row without a scale
    q, t = quantized_rows(x)
    args = {"x": x, "q": np.full(x.shape, -1, np.int8), "t": blank(t.shape, "f32")}
    return Problem(args, {"q": exact(q), "t": exact(t)})


def w4a8_product(q: Array, t: Array, w: Array, s: Array, T: str) -> Near:
    """t * sum over groups of (q @ (w - 8)) * s: exact inside a group, f32 across."""
    groups = s.shape[0]
    total = Near(np.zeros((q.shape[0], w.shape[1])))
    for i in range(groups):
        rows = slice(i * (w.shape[0] // groups), (i + 1) * (w.shape[0] // groups))
        part = q[:, rows].astype(np.float64) @ (w[rows].astype(np.float64) - 8)
        most = np.abs(part) + np.abs(q[:, rows].astype(np.float64)) @ np.full(w[rows].shape, 8.0)
        # A group may be summed in several parts, each of which is scaled and added.
        total = total + Near(part, 8 * U32 * most) * exact(s[i])
    return (total * exact(t[:, None])).rounded(T)


def gemm_w4a8_channel(rng: Rng, d: Dims, T: str) -> Problem:
    q, t = quantized_rows(normal(rng, (d["M"], d["K"]), T))
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, d["N"]).astype(np.float32)
    args = {"q": q, "t": t, "w": w, "s": s, "c": blank((d["M"], d["N"]), T)}
    return Problem(args, {"c": w4a8_product(q, t, w, s[None], T)})


def gemm_w4a8_group(rng: Rng, d: Dims, T: str) -> Problem:
    q, t = quantized_rows(normal(rng, (d["M"], d["K"]), T))
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, (d["K"] // d["G"], d["N"])).astype(np.float32)
    args = {"q": q, "t": t, "w": w, "s": s, "c": blank((d["M"], d["N"]), T)}
    return Problem(args, {"c": w4a8_product(q, t, w, s, T)})


def w4a8_channel(rng: Rng, d: Dims, T: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), T)
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, d["N"]).astype(np.float32)
    args = {"x": x, "w": w, "s": s, "c": blank((d["M"], d["N"]), T)}
    return Problem(args, {"c": w4a8_product(*quantized_rows(x), w, s[None], T)})


def w4a8_group(rng: Rng, d: Dims, T: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), T)
    w, _ = codes(rng, (d["K"], d["N"]), "u4")
    s = rng.uniform(0.01, 0.02, (d["K"] // d["G"], d["N"])).astype(np.float32)
    args = {"x": x, "w": w, "s": s, "c": blank((d["M"], d["N"]), T)}
    return Problem(args, {"c": w4a8_product(*quantized_rows(x), w, s, T)})


# Attention


def attention(rng: Rng, d: Dims, T: str) -> Problem:
    batch, rows, length, width = d["B"], d["S"], d["L"], d["D"]
    q = normal(rng, (batch, rows, d["HQ"], width), T)
    k = normal(rng, (batch, length, d["HK"], width), T)
    v = normal(rng, (batch, length, d["HK"], width), T)
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
    weight = Near(p, p * relative).rounded(T)
    o = weight.value / total @ values
    error = (weight.error + p * relative) / total @ np.abs(values)
    expected = Near(o.transpose(0, 2, 1, 3), error.transpose(0, 2, 1, 3)).rounded(T)
    args = {"q": q, "k": k, "v": v, "past": past, "scale": scale, "o": blank(q.shape, T)}
    return Problem(args, {"o": expected})


# The Tilus paper


def tilus_tiles(weights: Array, rows: int, columns: int, sub: int, word: int) -> Array:
    """Weights of 6 bits, rearranged by the definition of the tensor core's operand B.

    A block of `rows` x `columns` is stored in one piece, in sub-blocks of `sub` rows. In a sub-block
    thread t holds its elements in the order of mma.m16n8k16, little-endian; its bits are words of
    `word` bytes, stored word by word for the threads of a warp, one warp after another.
    """
    k, n = weights.shape
    warps = columns // 8
    lane = np.arange(32)
    rows_of = 2 * (lane % 4)[:, None] + [0, 1, 8, 9]  # [thread, element] within 16 x 8
    size = 8 * word
    out = np.zeros((k // rows, n // columns, rows // sub, warps, sub * 6 // 4 // size, 32), np.uint64)
    for index in np.ndindex(*out.shape[:4]):
        bk, bj, u, warp = index
        block = weights[bk * rows + u * sub :][:sub, bj * columns + warp * 8 :][:, :8]
        steps = block.reshape(sub // 16, 16, 8)[:, rows_of, (lane // 4)[:, None]]
        elements = steps.transpose(1, 0, 2).reshape(32, -1).astype(np.int64) & 63
        for t in range(32):
            bits = sum(int(e) << (6 * i) for i, e in enumerate(elements[t]))
            for i in range(out.shape[4]):
                out[(*index, i, t)] = bits >> (size * i) & ((1 << size) - 1)
    return out.reshape(k // rows, n // columns, -1).astype(np.uint8 if word == 1 else np.uint32)


def tilus_rearrange(rng: Rng, d: Dims, **_: str) -> Problem:
    b, _value = codes(rng, (d["K"], d["N"]), "i6")
    expected = tilus_tiles(b, 16, 8, 16, 1)
    return Problem({"b": b, "t": np.zeros_like(expected)}, {"t": exact(expected)})


def tilus_rearrange_words(rng: Rng, d: Dims, **_: str) -> Problem:
    b, _value = codes(rng, (d["K"], d["N"]), "i6")
    expected = tilus_tiles(b, 256, 32, 64, 4)
    return Problem({"b": b, "t": np.zeros_like(expected)}, {"t": exact(expected)})


def tilus_plain(rng: Rng, d: Dims, **_: str) -> Problem:
    return tilus_product(rng, d, 16, 8, 16, 1)


def tilus_pipelined(rng: Rng, d: Dims, **_: str) -> Problem:
    return tilus_product(rng, d, 256, 32, 64, 4)


def tilus_product(rng: Rng, d: Dims, rows: int, columns: int, sub: int, word: int) -> Problem:
    a = normal(rng, (d["M"], d["K"]), "f16")
    w, _value = codes(rng, (d["K"], d["N"]), "i6")
    expected = (exact(a) @ exact(w)).rounded("f16")
    tiles = tilus_tiles(w, rows, columns, sub, word)
    return Problem({"a": a, "b": tiles, "c": blank((d["M"], d["N"]), "f16")}, {"c": expected})


# Programs


def attention_input(rng: Rng, d: Dims, T: str) -> Problem:
    x, g = normal(rng, (d["S"], d["H"]), T), normal(rng, (d["H"],), T)
    columns = {"wq": d["Q"], "wk": d["KV"], "wv": d["KV"]}
    weights = {n: normal(rng, (d["H"], c), T, d["H"] ** -0.5) for n, c in columns.items()}
    cos_sin = angles(d["S"], d["D"])
    normed = normalised(x, g).rounded(T)
    q, k, v = ((normed @ exact(w)).rounded(T) for w in weights.values())
    outs = {n: blank((d["S"], c), T) for n, c in zip("qkv", columns.values(), strict=True)}
    expected = {"q": rotated(q, cos_sin).rounded(T), "k": rotated(k, cos_sin).rounded(T), "v": v}
    return Problem({"x": x, "g": g, **weights, "cos_sin": cos_sin, **outs}, expected)


def mlp(rng: Rng, d: Dims, T: str) -> Problem:
    x, g = normal(rng, (d["S"], d["H"]), T), normal(rng, (d["H"],), T)
    wg = normal(rng, (d["H"], d["F"]), T, d["H"] ** -0.5)
    wu = normal(rng, (d["H"], d["F"]), T, d["H"] ** -0.5)
    wd = normal(rng, (d["F"], d["H"]), T, d["F"] ** -0.5)
    normed = normalised(x, g).rounded(T)
    gate, up = ((normed @ exact(w)).rounded(T) for w in (wg, wu))
    hidden = (silu(gate) * up).rounded(T)
    start = exact(x)
    residual = Near(start.value, (d["F"] + 1) * U32 * np.abs(start.value))
    expected = (residual + hidden @ exact(wd)).rounded(T)
    args = {"x": x, "g": g, "wg": wg, "wu": wu, "wd": wd, "y": blank(x.shape, T)}
    return Problem(args, {"y": expected})


PROBLEMS: dict[str, Callable[..., Problem]] = {
    function.__name__: function
    for function in (
        vector_add, softmax, rmsnorm, layernorm, rope, rope_interleaved, swiglu, gemm, gemm_i8,
        gemm_residual, gemm_quantized, gemm_quantized_zeros, splitk_bias, attention, lowrank,
        lowrank_mlp, quantize_rows, gemm_w4a8_channel, gemm_w4a8_group, w4a8_channel, w4a8_group,
        tilus_plain, tilus_rearrange, tilus_rearrange_words, tilus_pipelined, attention_input, mlp,
    )
}  # fmt: skip
