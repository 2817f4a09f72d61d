"""Normalisations: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, f64, normal

case = Family("norms")


def standardized(x: Array, axes: int | tuple[int, ...], eps: float = 1e-5) -> Array:
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axes, keepdims=True) + eps)


def rms(x: Array, eps: float) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


@case(near=1e-4)
def layernorm_backward(rng: Generator) -> Trial:
    x, dy, g = normal(rng, 7, 50), normal(rng, 7, 50), normal(rng, 50)
    wide = f64(x)
    sigma = np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    y = (wide - wide.mean(1, keepdims=True)) / sigma
    # dL/dx by the chain rule through the Jacobian of a row: (I - 1/H - y y^T / H) / sigma.
    dx = [
        (np.eye(50) - 1 / 50 - np.outer(row, row) / 50) @ (f64(d) * g) / s
        for row, d, s in zip(y, dy, sigma[:, 0], strict=True)
    ]
    args = {"x": x, "dy": dy, "g": g, "mean": x.mean(1), "rstd": (1 / sigma[:, 0]).astype("f4")}
    args |= {"dg": np.ones(50, np.float32), "db": np.zeros(50, np.float32)}
    return Trial(args, {"dx": np.array(dx), "dg": 1 + (dy * y).sum(0), "db": f64(dy).sum(0)})


@case(near=1e-4)
def rmsnorm_backward(rng: Generator) -> Trial:
    x, dy, g = normal(rng, 11, 40), normal(rng, 11, 40), normal(rng, 40)
    wide = f64(x)
    r = np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-6)
    y = wide / r
    dx = [
        (np.eye(40) - np.outer(row, row) / 40) @ (f64(d) * g) / s
        for row, d, s in zip(y, dy, r[:, 0], strict=True)
    ]
    products = dy * y
    parts = np.array([products[p::3].sum(0) for p in range(3)])
    wanted = {"dx": np.array(dx), "dg": products.sum(0), "parts": parts}
    return Trial({"x": x, "dy": dy, "g": g, "eps": 1e-6}, wanted)


@case(steps=1)
def add_rmsnorm_quantize(rng: Generator) -> Trial:
    x, old, g = (normal(rng, *s, dtype=np.float16) for s in ((5, 72), (5, 72), (72,)))
    total = f64(old) + f64(x)
    y = rms(total, 1e-5) * g
    s = np.abs(y).max(1) / 127
    wanted = {"residual": total, "s": s, "q": np.rint(y / s[:, None])}
    return Trial({"x": x, "residual": old, "g": g}, wanted)


@case(near=1e-4)
def group_norm(rng: Generator) -> Trial:
    x, g, b = normal(rng, 2, 12, 45), normal(rng, 12), normal(rng, 12)
    y = standardized(f64(x).reshape(2, 4, -1), 2).reshape(x.shape)
    return Trial({"x": x, "g": g, "b": b, "groups": 4}, {"y": y * g[:, None] + b[:, None]})


@case()
def group_rmsnorm(rng: Generator) -> Trial:
    import ml_dtypes

    x, g = normal(rng, 13, 96, dtype=ml_dtypes.bfloat16), normal(rng, 96, dtype=ml_dtypes.bfloat16)
    y = rms(f64(x).reshape(13, 4, 24), 1e-6).reshape(13, 96)
    return Trial({"x": x, "g": g}, {"y": y * f64(g)})


@case()
def weight_norm(rng: Generator) -> Trial:
    v, g = normal(rng, 19, 77), normal(rng, 19)
    return Trial(
        {"v": v, "g": g}, {"w": g[:, None] * v / np.linalg.norm(f64(v), axis=1, keepdims=True)}
    )


@case(near=1e-4)
def batch_norm_moments(rng: Generator) -> Trial:
    x = normal(rng, 3, 5, 37) + 3
    return Trial({"x": x}, {"mean": f64(x).mean((0, 2)), "var": f64(x).var((0, 2))})


@case()
def qk_norm_rope(rng: Generator) -> Trial:
    s, hq, hk, d, length, slots = 5, 4, 2, 16, 30, 9
    q, k, gq, gk = (
        normal(rng, *shape, dtype=np.float16) for shape in ((s, hq, d), (s, hk, d), (d,), (d,))
    )
    angle = np.arange(length)[:, None] / 100 ** (np.arange(d // 2) / (d // 2))
    pos = np.array([29, 0, 7, 8, 13], np.int32)
    slot = np.array([8, 2, 0, 5, 3], np.int32)

    def rotated(x: Array, g: Array) -> Array:
        y = rms(f64(x), 1e-6) * g
        z = (y[..., : d // 2] + 1j * y[..., d // 2 :]) * np.exp(1j * angle[pos])[:, None]
        return np.concatenate([z.real, z.imag], -1)

    cache = normal(rng, slots, hk, d, dtype=np.float16)
    after = f64(cache)
    after[slot] = rotated(k, gk)
    args = {"q": q, "k": k, "gq": gq, "gk": gk, "pos": pos, "slot": slot, "cache": cache}
    args |= {"cos": np.cos(angle).astype("f4"), "sin": np.sin(angle).astype("f4")}
    return Trial(args, {"rotated": rotated(q, gq), "cache": after})


@case()
def instance_norm_relu(rng: Generator) -> Trial:
    x = normal(rng, 3, 101)
    return Trial({"x": x}, {"y": np.maximum(standardized(f64(x), 1), 0)})


@case("instance_norm_relu of one column", kernel="instance_norm_relu")
def one_column(rng: Generator) -> Trial:
    x = normal(rng, 3, 1)
    return Trial({"x": x}, {"y": np.zeros((3, 1))})
