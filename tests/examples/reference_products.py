"""References of the matrix products."""

from __future__ import annotations

import numpy as np
from inputs import NUMPY, Dims, Problem, Rng, blank, codes, normal
from near import U32, Array, Near, exact, silu


def gemm(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    a, b = normal(rng, (d["M"], d["K"]), dtype), normal(rng, (d["K"], d["N"]), dtype)
    expected = (exact(a) @ exact(b)).rounded(dtype)
    return Problem({"a": a, "b": b, "c": blank((d["M"], d["N"]), dtype)}, {"c": expected})


def gemm_residual(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    a, b = normal(rng, (d["M"], d["K"]), dtype), normal(rng, (d["K"], d["N"]), dtype)
    r = normal(rng, (d["M"], d["N"]), dtype)
    product = exact(a) @ exact(b)
    # The sum begins with r: one more term, and each partial sum may be that much greater.
    start = Near(r.astype(np.float64), (d["K"] + 1) * U32 * np.abs(r.astype(np.float64)))
    expected = (start + product).rounded(dtype)
    return Problem({"a": a, "b": b, "r": r, "c": blank(r.shape, dtype)}, {"c": expected})


def gemm_i8(rng: Rng, d: Dims, **_: str) -> Problem:
    a = rng.integers(-128, 128, (d["M"], d["K"])).astype(np.int8)
    b = rng.integers(-128, 128, (d["K"], d["N"])).astype(np.int8)
    c = np.full((d["M"], d["N"]), -1, np.int32)
    expected = Near((a.astype(np.int64) @ b.astype(np.int64)).astype(np.float64))
    return Problem({"a": a, "b": b, "c": c}, {"c": expected})


def splitk_bias(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    a, b = normal(rng, (d["M"], d["K"]), dtype), normal(rng, (d["K"], d["N"]), dtype)
    bias = normal(rng, (d["N"],), dtype)
    expected = (exact(a) @ exact(b) + exact(bias)).rounded(dtype)
    args = {"a": a, "b": b, "bias": bias, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": expected})


def gemm_quantized(rng: Rng, d: Dims, dtype: str, weight: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), dtype)
    w, value = codes(rng, (d["K"], d["N"]), weight)
    s = scales(rng, (d["K"] // d["G"], d["N"]), dtype, value)
    # The kernel rounds each weight to T: a product of two numbers of T is exact before that.
    b = (value * np.repeat(s.astype(np.float64), d["G"], 0)).astype(NUMPY[dtype])
    expected = (exact(a) @ exact(b)).rounded(dtype)
    args = {"a": a, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": expected})


def gemm_quantized_sums(rng: Rng, d: Dims, dtype: str, weight: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), dtype)
    w, value = codes(rng, (d["K"], d["N"]), weight)
    s = scales(rng, (d["K"] // d["G"], d["N"]), dtype, value)
    # One rounding more for each group's sum, when it is scaled.
    product = exact(a) @ exact(value * np.repeat(s.astype(np.float64), d["G"], 0))
    most = np.abs(a.astype(np.float64)) @ np.abs(value * np.repeat(s.astype(np.float64), d["G"], 0))
    expected = Near(product.value, product.error + 2 * U32 * most).rounded(dtype)
    args = {"a": a, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": expected})


def gemm_quantized_zeros(rng: Rng, d: Dims, dtype: str, weight: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), dtype)
    w, value = codes(rng, (d["K"], d["N"]), weight)
    z, zero = codes(rng, (d["K"] // d["G"], d["N"]), weight)
    s = scales(rng, (d["K"] // d["G"], d["N"]), dtype, value)
    shifted = (value - np.repeat(zero, d["G"], 0)).astype(NUMPY[dtype]).astype(np.float64)
    b = (shifted * np.repeat(s.astype(np.float64), d["G"], 0)).astype(NUMPY[dtype])
    expected = (exact(a) @ exact(b)).rounded(dtype)
    args = {"a": a, "w": w, "s": s, "z": z, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": expected})


def gemm_mx(rng: Rng, d: Dims, dtype: str, weight: str = "f4e2m1", **_: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), dtype)
    w, value = codes(rng, (d["K"], d["N"]), weight)
    most = int(np.ceil(np.log2(max(np.abs(value).max(initial=0), 1))))
    s = (127 - most - rng.integers(0, 4, (d["K"] // 32, d["N"]))).astype(np.uint8)
    b = value * np.repeat(np.exp2(s.astype(np.float64) - 127), 32, 0)
    expected = (exact(a) @ exact(b.astype(NUMPY[dtype]))).rounded(dtype)
    return Problem({"a": a, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}, {"c": expected})


def gemm_nvfp4(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    a = normal(rng, (d["M"], d["K"]), dtype)
    w, value = codes(rng, (d["K"], d["N"]), "f4e2m1")
    s, scale = codes(rng, (d["K"] // 16, d["N"]), "f8e4m3")
    t = float(np.float32(rng.uniform(0.5, 1.0) / 448 / 6))
    b = value * np.repeat(scale, 16, 0)
    assert (b == b.astype(NUMPY[dtype])).all()
    expected = ((exact(a) @ exact(b)) * exact(np.float64(t))).rounded(dtype)
    args = {"a": a, "w": w, "s": s, "t": t, "c": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"c": expected})


def scales(rng: Rng, shape: tuple[int, ...], dtype: str, weights: Array) -> Array:
    """Scales that bring weights to about 1, so that no product overflows f16."""
    return (rng.uniform(0.5, 1.0, shape) / max(np.abs(weights).max(initial=0), 1)).astype(
        NUMPY[dtype]
    )


def lowrank(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), dtype)
    u, v = factors(rng, d["K"], d["R"], d["N"], dtype)
    low = (exact(x) @ exact(u)).rounded(dtype)
    args = {"x": x, "u": u, "v": v, "y": blank((d["M"], d["N"]), dtype)}
    return Problem(args, {"y": (low @ exact(v)).rounded(dtype)})


def lowrank_mlp(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["H"]), dtype)
    gate_u, gate_v = factors(rng, d["H"], d["P"], d["F"], dtype)
    up_u, up_v = factors(rng, d["H"], d["Q"], d["F"], dtype)
    down_u, down_v = factors(rng, d["F"], d["R"], d["H"], dtype)
    gate = (exact(x) @ exact(gate_u)).rounded(dtype) @ exact(gate_v)
    up = (exact(x) @ exact(up_u)).rounded(dtype) @ exact(up_v)
    hidden = (silu(gate) * up).rounded(dtype)
    down = (hidden @ exact(down_u)).rounded(dtype) @ exact(down_v)
    args = {"x": x, "gate_u": gate_u, "gate_v": gate_v, "up_u": up_u, "up_v": up_v}
    args |= {"down_u": down_u, "down_v": down_v, "y": blank(x.shape, dtype)}
    return Problem(args, {"y": down.rounded(dtype)})


def factors(rng: Rng, rows: int, rank: int, columns: int, dtype: str) -> tuple[Array, Array]:
    """Two factors that keep the magnitude of what they multiply."""
    u = normal(rng, (rows, rank), dtype, max(rows, 1) ** -0.5)
    return u, normal(rng, (rank, columns), dtype, max(rank, 1) ** -0.5)
