"""Whole kernels of the library: arguments of a small call, and what they mean in NumPy and f64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """The arguments of a call, what it writes, and constants that it overrides."""

    args: Arrays
    wanted: Mapping[str, Array]
    define: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, int] = field(default_factory=dict)


Maker: TypeAlias = Callable[[np.random.Generator], Trial]
CASES: dict[str, Maker] = {}


def case(maker: Maker) -> Maker:
    """Register a case: `module__kernel`, or `module__kernel__form` for another form of its call."""
    CASES[maker.__name__.replace("__", ".")] = maker
    return maker


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    return rng.standard_normal(shape).astype(dtype)


def half(rng: np.random.Generator, *shape: int) -> Array:
    return (rng.standard_normal(shape) * 0.5).astype(np.float16)


def wide(x: Array) -> NDArray[np.float64]:
    return np.asarray(x, np.float64)


def softmax_of(x: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


F32 = {"T": "f32"}


@case
def softmax__softmax(rng: np.random.Generator) -> Trial:
    x = normal(rng, 5, 300)
    return Trial({"x": x}, {"y": softmax_of(wide(x))}, F32)


@case
def softmax__softmax_rows(rng: np.random.Generator) -> Trial:
    x = normal(rng, 5, 72)
    return Trial({"x": x}, {"y": softmax_of(wide(x))}, F32)


@case
def softmax__softmax_backward(rng: np.random.Generator) -> Trial:
    y, dy = softmax_of(wide(normal(rng, 5, 72))).astype(np.float32), normal(rng, 5, 72)
    grad = wide(y) * (wide(dy) - (wide(y) * wide(dy)).sum(1, keepdims=True))
    return Trial({"y": y, "dy": dy}, {"dx": grad}, F32)


def rms(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6))


@case
def rows__rmsnorm(rng: np.random.Generator) -> Trial:
    x, g = normal(rng, 5, 72), normal(rng, 72)
    return Trial({"x": x, "g": g}, {"y": rms(wide(x)) * g}, F32)


@case
def rows__add_rmsnorm(rng: np.random.Generator) -> Trial:
    x, r, g = normal(rng, 5, 72), normal(rng, 5, 72), normal(rng, 72)
    total = wide(x) + wide(r)
    wanted = {"residual": total, "y": rms(total) * g}
    return Trial({"x": x, "residual": r, "g": g}, wanted, F32)


@case
def rows__rmsnorm_quantized(rng: np.random.Generator) -> Trial:
    x, g = normal(rng, 5, 72), normal(rng, 72)
    y = rms(wide(x)) * g
    scale = np.abs(y).max(1, keepdims=True) / 127
    return Trial({"x": x, "g": g}, {"q": np.round(y / scale), "s": scale}, F32)


@case
def rows__quantize_rows(rng: np.random.Generator) -> Trial:
    x = normal(rng, 5, 72)
    scale = np.abs(wide(x)).max(1, keepdims=True) / 127
    return Trial({"x": x}, {"q": np.round(x / scale), "s": scale}, F32)


@case
def rows__rmsnorm_backward(rng: np.random.Generator) -> Trial:
    dy, x, g = normal(rng, 5, 72), normal(rng, 5, 72), normal(rng, 72)
    row, w = wide(x), wide(dy) * g
    scale = 1 / np.sqrt((row * row).mean(1, keepdims=True) + 1e-6)
    dx = scale * (w - row * (w * row).mean(1, keepdims=True) * scale**2)
    args = {"dy": dy, "x": x, "g": g, "dg": np.zeros(72, np.float32)}
    return Trial(args, {"dx": dx, "dg": (wide(dy) * row * scale).sum(0)}, F32)


def centred(x: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    row = wide(x) - wide(x).mean(1, keepdims=True)
    scale = 1 / np.sqrt((row * row).mean(1, keepdims=True) + 1e-5)
    return row * scale, scale


@case
def rows__layernorm(rng: np.random.Generator) -> Trial:
    x, g, b = normal(rng, 5, 72), normal(rng, 72), normal(rng, 72)
    return Trial({"x": x, "g": g, "b": b}, {"y": centred(x)[0] * g + b}, F32)


@case
def rows__layernorm_backward(rng: np.random.Generator) -> Trial:
    dy, x, g = normal(rng, 5, 72), normal(rng, 5, 72), normal(rng, 72)
    unit, scale = centred(x)
    w = wide(dy) * g
    dx = (w - w.mean(1, keepdims=True) - unit * (w * unit).mean(1, keepdims=True)) * scale
    zeros = {n: np.zeros(72, np.float32) for n in ("dg", "db")}
    wanted = {"dx": dx, "dg": (wide(dy) * unit).sum(0), "db": wide(dy).sum(0)}
    return Trial({"dy": dy, "x": x, "g": g, **zeros}, wanted, F32)


def loss_of(logits: Array, target: Array) -> tuple[Array, Array]:
    p = softmax_of(wide(logits))
    hit = np.eye(logits.shape[1])[np.maximum(target, 0)]
    keep = target >= 0
    return np.where(keep, -np.log((p * hit).sum(1)), 0), (p - hit) * keep[:, None]


@case
def losses__cross_entropy(rng: np.random.Generator) -> Trial:
    logits, target = normal(rng, 6, 300), np.array([3, 299, -1, 0, 17, 255], np.int32)
    args = {"logits": logits, "target": target, "ignore": -1}
    return Trial(args, {"loss": loss_of(logits, target)[0]})


@case
def losses__cross_entropy_gradient(rng: np.random.Generator) -> Trial:
    logits, target = normal(rng, 6, 300), np.array([3, 299, -1, 0, 17, 255], np.int32)
    loss, grad = loss_of(logits, target)
    args = {"logits": logits, "target": target, "ignore": -1, "scale": 0.25}
    return Trial(args, {"loss": loss, "logits": grad * 0.25})


@case
def optimizers__adamw(rng: np.random.Generator) -> Trial:
    w, g, m = (normal(rng, 300) for _ in "wgm")
    v = np.abs(normal(rng, 300))
    first, second = 0.9 * wide(m) + 0.1 * wide(g), 0.99 * wide(v) + 0.01 * wide(g) ** 2
    step = first / 0.271 / (np.sqrt(second / 0.03) + 1e-8)
    scalars = {"rate": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": 0.01}
    args = {"w": w, "g": g, "m": m, "v": v, **scalars, "correction1": 0.271, "correction2": 0.03}
    return Trial(args, {"w": w - 0.1 * (step + 0.01 * w), "m": first, "v": second})


@case
def optimizers__sgd(rng: np.random.Generator) -> Trial:
    w, g, m = (normal(rng, 300) for _ in "wgm")
    moved = 0.9 * wide(m) + g + 0.01 * wide(w)
    args = {"w": w, "g": g, "m": m, "rate": 0.1, "momentum": 0.9, "decay": 0.01}
    return Trial(args, {"w": w - 0.1 * moved, "m": moved})


@case
def optimizers__lion(rng: np.random.Generator) -> Trial:
    w, g, m = (normal(rng, 300) for _ in "wgm")
    sign = np.sign(0.9 * wide(m) + 0.1 * wide(g))
    args = {"w": w, "g": g, "m": m, "rate": 0.1, "beta1": 0.9, "beta2": 0.99, "decay": 0.01}
    return Trial(args, {"w": w - 0.1 * (sign + 0.01 * w), "m": 0.99 * wide(m) + 0.01 * wide(g)})


def rotated(x: Array, cos_sin: Array, step: int) -> Array:
    """Each head of D; pairs lie D / 2 apart (step 1) or side by side (step 2)."""
    d = cos_sin.shape[1]
    heads = wide(x).reshape(len(x), -1, d)
    c, s = wide(cos_sin)[:, None, : d // 2], wide(cos_sin)[:, None, d // 2 :]
    a, b = (
        (heads[..., : d // 2], heads[..., d // 2 :])
        if step == 1
        else (heads[..., ::2], heads[..., 1::2])
    )
    pair = np.stack([a * c - b * s, b * c + a * s], -2 if step == 1 else -1)
    return pair.reshape(x.shape)


@case
def rotary__rope(rng: np.random.Generator) -> Trial:
    x, angles = normal(rng, 5, 48), normal(rng, 5, 16)
    return Trial({"x": x, "cos_sin": angles}, {"x": rotated(x, angles, 1)}, F32)


@case
def rotary__rope_interleaved(rng: np.random.Generator) -> Trial:
    x, angles = normal(rng, 5, 48), normal(rng, 5, 16)
    return Trial({"x": x, "cos_sin": angles}, {"x": rotated(x, angles, 2)}, F32)


@case
def rotary__rope_to_cache(rng: np.random.Generator) -> Trial:
    k, v, angles = normal(rng, 4, 32), normal(rng, 4, 32), normal(rng, 9, 16)
    positions, slots = np.array([3, 8, 0, 5], np.int32), np.array([6, 2, -1, 0], np.int32)
    keys, values = normal(rng, 7, 32), normal(rng, 7, 32)
    wanted = {"keys": wide(keys), "values": wide(values)}
    live = slots >= 0
    wanted["keys"][slots[live]] = rotated(k, angles[positions], 1)[live]
    wanted["values"][slots[live]] = v[live]
    args = {"k": k, "v": v, "cos_sin": angles, "positions": positions, "slots": slots}
    return Trial({**args, "keys": keys, "values": values}, wanted, F32)


@case
def rotary__rope__back(rng: np.random.Generator) -> Trial:
    x, angles = normal(rng, 5, 48), normal(rng, 5, 16)
    back = angles * np.where(np.arange(16) < 8, 1, -1).astype(np.float32)
    return Trial({"x": x, "cos_sin": angles}, {"x": rotated(x, back, 1)}, {**F32, "BACK": 1})


@case
def rotary__rope_to_cache__bytes(rng: np.random.Generator) -> Trial:
    k, v, angles = normal(rng, 4, 32), normal(rng, 4, 32), normal(rng, 9, 16)
    positions, slots = np.array([3, 8, 0, 5], np.int32), np.array([6, 2, -1, 0], np.int32)
    args = {"k": k, "v": v, "cos_sin": angles, "positions": positions, "slots": slots}
    wanted = {n: np.zeros((7, 32)) for n in ("keys", "values")}
    wanted |= {n: np.ones((7, 2)) for n in ("ks", "vs")}
    for name, scales, x in (
        ("keys", "ks", rotated(k, angles[positions], 1)),
        ("values", "vs", wide(v)),
    ):
        for row, slot in ((0, 6), (1, 2), (3, 0)):
            heads = x[row].reshape(2, 16)
            wanted[scales][slot] = np.abs(heads).max(1) / 127
            wanted[name][slot] = np.round(heads / wanted[scales][slot, :, None]).reshape(-1)
    caches = {n: np.zeros((7, 32), np.int8) for n in ("keys", "values")}
    caches |= {n: np.ones((7, 2), np.float32) for n in ("ks", "vs")}
    return Trial({**args, **caches}, wanted, {**F32, "KV_TYPE": "i8"})


@case
def sampling__greedy(rng: np.random.Generator) -> Trial:
    logits = np.round(normal(rng, 4, 300) * 3).astype(np.float32)
    return Trial({"logits": logits}, {"token": logits.argmax(1)}, {}, {"BV": 256})


def first_past(kept: Array, uniform: Array) -> Array:
    sums = np.cumsum(kept, 1)
    return np.asarray((sums <= uniform[:, None] * sums[:, -1:]).sum(1))


UNIFORM = np.array([0.02, 0.35, 0.61, 0.97], np.float32)


@case
def sampling__top_k(rng: np.random.Generator) -> Trial:
    logits = normal(rng, 4, 150) * 2
    order = np.argsort(-logits, 1, kind="stable")[:, :4]
    kept = np.exp(np.take_along_axis(wide(logits), order, 1) / 0.8)
    token = np.take_along_axis(order, first_past(kept, UNIFORM)[:, None], 1)[:, 0]
    args = {"logits": logits, "uniform": UNIFORM, "heat": 0.8}
    return Trial(args, {"token": token}, {"K": 4}, {"BV": 64})


@case
def sampling__top_p(rng: np.random.Generator) -> Trial:
    logits = normal(rng, 4, 90) * 2
    p = softmax_of(wide(logits) / 0.8)
    falling = -np.sort(-p, 1)
    few = (np.cumsum(falling, 1) < 0.7).sum(1)  # that many are not enough
    kept = np.where(p >= falling[np.arange(4), few][:, None], p, 0)
    args = {"logits": logits, "uniform": UNIFORM, "heat": 0.8, "p": 0.7}
    return Trial(args, {"token": first_past(kept, UNIFORM)})


@case
def sampling__min_p(rng: np.random.Generator) -> Trial:
    logits = normal(rng, 4, 90) * 2
    p = softmax_of(wide(logits) / 0.8)
    kept = np.where(p >= 0.2 * p.max(1, keepdims=True), p, 0)
    args = {"logits": logits, "uniform": UNIFORM, "heat": 0.8, "p": 0.2}
    return Trial(args, {"token": first_past(kept, UNIFORM)})


@case
def convolution__conv2d(rng: np.random.Generator) -> Trial:
    x, w = half(rng, 2, 7, 9, 20), half(rng, 3, 3, 20, 24)
    padded = np.pad(wide(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = np.zeros((2, 4, 5, 24))
    for i in range(3):
        for j in range(3):
            y += padded[:, i : i + 7 : 2, j : j + 9 : 2] @ wide(w)[i, j]
    return Trial({"x": x, "w": w}, {"y": y}, {"STRIDE": 2, "PAD": 1})


@case
def convolution__depthwise_conv2d(rng: np.random.Generator) -> Trial:
    x, w = half(rng, 2, 7, 9, 20), half(rng, 3, 3, 20)
    y = np.zeros((2, 5, 7, 20))
    for i in range(3):
        for j in range(3):
            y += wide(x)[:, i : i + 5, j : j + 7] * wide(w)[i, j]
    return Trial({"x": x, "w": w}, {"y": y})


@case
def convolution__causal_conv1d(rng: np.random.Generator) -> Trial:
    x, w, b = half(rng, 20, 40), half(rng, 4, 40), half(rng, 40)
    padded = np.pad(wide(x), ((3, 0), (0, 0)))
    return Trial(
        {"x": x, "w": w, "b": b}, {"y": b + sum(padded[k : k + 20] * wide(w)[k] for k in range(4))}
    )
