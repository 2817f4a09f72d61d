"""References of the elementwise examples and of those that work on rows."""

from __future__ import annotations

import numpy as np
from inputs import NUMPY, Dims, Problem, Rng, blank, normal
from near import U32, Array, Near, exact, silu


def vector_add(rng: Rng, d: Dims, **_: str) -> Problem:
    x, y = normal(rng, (d["N"],), "f32"), normal(rng, (d["N"],), "f32")
    return Problem({"x": x, "y": y, "z": blank(x.shape, "f32")}, {"z": exact(x + y)})


def softmax(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["N"]), dtype, 4.0)
    v = x.astype(np.float64)
    top = v.max(1, keepdims=True, initial=-1e9)
    e = np.exp(v - top)
    p = e / e.sum(1, keepdims=True)
    # exp makes the rounding of its argument a relative error; each block rescales the sum once.
    relative = U32 * (4 * (top - v) + d["N"] + 64)
    return Problem(
        {"x": x, "y": blank(x.shape, dtype)}, {"y": Near(p, p * relative).rounded(dtype)}
    )


def softmax_rows(rng: Rng, d: Dims, dtype: str, **more: str) -> Problem:
    return softmax(rng, d, dtype, **more)


def normalised(x: Array, g: Array) -> Near:
    """The rows of x divided by their root mean square, times g, in f32."""
    v = exact(x)
    width = x.shape[1]
    value = v.value / np.sqrt((v.value**2).mean(1, keepdims=True) + 1e-6) * g.astype(np.float64)
    return Near(value, (width + 16) * U32 * np.abs(value))


def rmsnorm(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x, g = normal(rng, (d["M"], d["H"]), dtype), normal(rng, (d["H"],), dtype)
    return Problem(
        {"x": x, "g": g, "y": blank(x.shape, dtype)}, {"y": normalised(x, g).rounded(dtype)}
    )


def layernorm(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x, g, b = (
        normal(rng, (d["M"], d["H"]), dtype),
        normal(rng, (d["H"],), dtype),
        normal(rng, (d["H"],), dtype),
    )
    x += NUMPY[dtype](3)  # a mean that is not 0
    v = exact(x).value
    mean = exact(x).sum()
    centred = v - mean.value / d["H"]
    deviation = np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    error = mean.error / d["H"] + 2 * U32 * np.abs(v)  # of the centred row
    relative = error.max(1, keepdims=True, initial=0) / deviation + (d["H"] + 16) * U32
    scaled = centred / deviation
    row = Near(scaled, error / deviation + np.abs(scaled) * relative) * exact(g) + exact(b)
    return Problem({"x": x, "g": g, "b": b, "y": blank(x.shape, dtype)}, {"y": row.rounded(dtype)})


def angles(rows: int, width: int) -> Array:
    """The cosines and the sines of RoPE's angles at positions 0, 1, ... side by side."""
    frequency = 10_000.0 ** (-np.arange(width // 2) / max(width // 2, 1))
    angle = np.outer(np.arange(rows), frequency)
    return np.concatenate([np.cos(angle), np.sin(angle)], 1).astype(np.float32)


def rotated(x: Near, cos_sin: Array, interleaved: bool = False) -> Near:
    """Each head of x, the width of cos_sin, rotated; in f32."""
    rows, columns = x.value.shape
    half = cos_sin.shape[1] // 2
    heads = columns // cos_sin.shape[1]
    c, s = exact(cos_sin[:, None, :half]), exact(cos_sin[:, None, half:])
    if interleaved:
        pairs = x.reshape(rows, heads, half, 2)
        a, b = pairs[..., 0], pairs[..., 1]
    else:
        pairs = x.reshape(rows, heads, 2, half)
        a, b = pairs[:, :, 0], pairs[:, :, 1]
    first, second = a * c - b * s, b * c + a * s
    axis = 3 if interleaved else 2
    value = np.stack([first.value, second.value], axis).reshape(rows, columns)
    return Near(value, np.stack([first.error, second.error], axis).reshape(rows, columns))


def rope(rng: Rng, d: Dims, dtype: str, interleaved: bool = False, **_: str) -> Problem:
    x, cos_sin = normal(rng, (d["S"], d["Q"]), dtype), angles(d["S"], d["D"])
    expected = rotated(exact(x), cos_sin, interleaved).rounded(dtype)
    return Problem({"x": x, "cos_sin": cos_sin}, {"x": expected})


def rope_interleaved(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    return rope(rng, d, dtype, interleaved=True)


def swiglu(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    gate, up = normal(rng, (d["M"], d["F"]), dtype, 3.0), normal(rng, (d["M"], d["F"]), dtype)
    expected = (silu(exact(gate)) * exact(up)).rounded(dtype)
    return Problem({"gate": gate, "up": up, "y": blank(gate.shape, dtype)}, {"y": expected})
