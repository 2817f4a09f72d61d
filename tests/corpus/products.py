"""Products of matrices: arguments and meaning."""

from __future__ import annotations

from math import erf

import numpy as np

from corpus.cases import Family, Generator, Trial, bfloat16, f64, normal

case = Family("products")


def epilogue(rng: Generator, m: int, n: int, k: int) -> Trial:
    a, b = normal(rng, k, m, dtype=np.float16), normal(rng, k, n, dtype=np.float16)
    bias, old = normal(rng, n, dtype=np.float16), normal(rng, m, n, dtype=np.float16)
    x = 0.25 * f64(a).T @ f64(b) + bias
    gelu = x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2
    args = {"a": a, "b": b, "bias": bias, "old": old, "alpha": 0.25, "beta": 0.5}
    return Trial(args, {"c": gelu + 0.5 * f64(old)})


@case()
def gemm_transposed_epilogue(rng: Generator) -> Trial:
    return epilogue(rng, 37, 45, 50)


@case("gemm_transposed_epilogue 1 x 1 x 1", kernel="gemm_transposed_epilogue")
def ones(rng: Generator) -> Trial:
    return epilogue(rng, 1, 1, 1)


@case("gemm_transposed_epilogue of nothing", kernel="gemm_transposed_epilogue")
def nothing(rng: Generator) -> Trial:
    return epilogue(rng, 5, 7, 0)


@case(near=1e-4)
def batched_gemm_strided(rng: Generator) -> Trial:
    whole, b = normal(rng, 3, 25, 21), normal(rng, 3, 21, 35)
    a = whole[:, :19]
    return Trial({"a": a, "b": b}, {"c": f64(a) @ f64(b)})


@case()
def grouped_gemm(rng: Generator) -> Trial:
    a, w = normal(rng, 45, 40, dtype=bfloat16), normal(rng, 4, 40, 50, dtype=bfloat16)
    ends = np.array([17, 17, 20, 45], np.int32)
    expert = np.searchsorted(ends, np.arange(45), "right")
    c = np.array([f64(row) @ f64(w[e]) for row, e in zip(a, expert, strict=True)])
    return Trial({"a": a, "w": w, "ends": ends}, {"c": c})


@case(near=1e-4)
def persistent_gemm(rng: Generator) -> Trial:
    a, b = normal(rng, 77, 40, dtype=np.float16), normal(rng, 40, 70, dtype=np.float16)
    return Trial({"a": a, "b": b, "workers": 4}, {"c": f64(a) @ f64(b)})


@case(near=1e-4)
def streamk_gemm(rng: Generator) -> Trial:
    a, b = normal(rng, 37, 53), normal(rng, 53, 21)
    c = np.zeros((37, 21), np.float32)
    return Trial({"a": a, "b": b, "workers": 5, "c": c}, {"c": f64(a) @ f64(b)})


@case()
def gemm_f64(rng: Generator) -> Trial:
    a, b = normal(rng, 19, 37, dtype=np.float64), normal(rng, 37, 23, dtype=np.float64)
    return Trial({"a": a, "b": b}, {"c": a @ b})


@case()
def gemm_i8_channels(rng: Generator) -> Trial:
    a, w = rng.integers(-128, 128, (21, 150), np.int8), rng.integers(-128, 128, (150, 41), np.int8)
    sa, sw, bias = rng.random(21, "f4") / 99, rng.random(41, "f4") / 99, normal(rng, 41)
    x = f64(a) @ f64(w) * f64(sa)[:, None] * sw + bias
    return Trial({"a": a, "w": w, "sa": sa, "sw": sw, "bias": bias}, {"c": x})


@case()
def outer_update(rng: Generator) -> Trial:
    w, x, y = normal(rng, 13, 71), normal(rng, 13), normal(rng, 71)
    return Trial({"w": w, "x": x, "y": y, "rate": 0.1}, {"w": w - 0.1 * np.outer(f64(x), y)})


@case()
def kronecker(rng: Generator) -> Trial:
    a, b = normal(rng, 3, 5), normal(rng, 7, 4)
    return Trial({"a": a, "b": b}, {"c": np.kron(f64(a), f64(b))})


@case()
def gemv_rows(rng: Generator) -> Trial:
    a, x = normal(rng, 19, 301, dtype=np.float16), normal(rng, 301, dtype=np.float16)
    return Trial({"a": a, "x": x}, {"y": f64(a) @ f64(x)})


@case(near=1e-4)
def symmetric_rank_k(rng: Generator) -> Trial:
    a = normal(rng, 43, 30)
    return Trial({"a": a}, {"c": np.tril(f64(a) @ f64(a).T)})


@case(near=1e-4)
def complex_gemm(rng: Generator) -> Trial:
    a, b = normal(rng, 2, 19, 23), normal(rng, 2, 23, 17)
    c = (f64(a[0]) + 1j * a[1]) @ (f64(b[0]) + 1j * b[1])
    return Trial({"a": a, "b": b}, {"c": np.stack([c.real, c.imag])})
