"""Few bits: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, bfloat16, f64, normal, small

case = Family("quantized")


def spread(s: Array, group: int) -> Array:
    """Each scale for its rows."""
    return np.repeat(f64(s), group, 0)


def gptq(rng: Generator, m: int, n: int) -> Trial:
    a, w = normal(rng, m, 96, dtype=np.float16), rng.integers(0, 16, (96, n), np.uint8)
    z = rng.integers(4, 12, (3, n), np.uint8)
    s = rng.uniform(0.01, 0.05, (3, n)).astype(np.float16)
    c = f64(a) @ ((w - spread(z, 32) - 1) * spread(s, 32))
    return Trial({"a": a, "w": w, "z": z, "s": s}, {"c": c})


@case()
def gptq_gemm(rng: Generator) -> Trial:
    return gptq(rng, 9, 50)


@case("gptq_gemm of one row and column", kernel="gptq_gemm")
def one(rng: Generator) -> Trial:
    return gptq(rng, 1, 1)


@case()
def awq_dequantize(rng: Generator) -> Trial:
    w, z = rng.integers(0, 256, (48, 37), np.uint8), rng.integers(0, 256, (3, 37), np.uint8)
    s = rng.uniform(0.01, 0.05, (3, 74)).astype(np.float16)
    code, zero = (np.stack([x & 15, x >> 4], -1).reshape(len(x), 74).astype("f8") for x in (w, z))
    return Trial({"w": w, "z": z, "s": s}, {"y": (code - spread(zero, 16)) * spread(s, 16)})


def narrow(rng: Generator, bits: int) -> Trial:
    a, w = normal(rng, 5, 80, dtype=bfloat16), rng.integers(0, 2**bits, (80, 70), np.uint8)
    s = (2.0 ** rng.integers(-4, 0, (5, 70))).astype(bfloat16)
    c = f64(a) @ ((w - 2.0 ** (bits - 1)) * spread(s, 16))
    return Trial({"a": a, "w": w, "s": s, "zero": 2.0 ** (bits - 1)}, {"c": c})


for _bits in (1, 2, 3, 5, 6, 7):

    @case(f"narrow_gemm u{_bits}", kernel="narrow_gemm", define={"W": f"u{_bits}"})
    def narrow_gemm(rng: Generator, bits: int = _bits) -> Trial:
        return narrow(rng, bits)


@case()
def mxfp4_gemm(rng: Generator) -> Trial:
    a, w = normal(rng, 21, 96, dtype=bfloat16), small(normal(rng, 96, 40) * 2, "float4_e2m1fn")
    s = rng.integers(124, 130, (3, 40), np.uint8)
    c = f64(a) @ (f64(w) * spread(2.0 ** (f64(s) - 127), 32))
    return Trial({"a": a, "w": w, "s": s}, {"c": c})


@case()
def nvfp4_gemv(rng: Generator) -> Trial:
    x, w = normal(rng, 80, dtype=np.float16), small(normal(rng, 80, 99) * 2, "float4_e2m1fn")
    s = small(rng.uniform(0.5, 4, (5, 99)), "float8_e4m3fn")
    y = f64(x) @ (f64(w) * spread(s, 16)) * 0.125
    return Trial({"x": x, "w": w, "s": s, "t": 0.125}, {"y": y})


@case()
def nf4_gemm(rng: Generator) -> Trial:
    a, w = normal(rng, 18, 128, dtype=np.float16), rng.integers(0, 16, (128, 37), np.uint8)
    table = np.sort(normal(rng, 16, dtype=np.float16))
    s = rng.random((2, 37), "f4")
    c = f64(a) @ (f64(table)[w] * spread(s, 64))
    return Trial({"a": a, "w": w, "table": table, "s": s}, {"c": c})


@case()
def ternary_gemm(rng: Generator) -> Trial:
    a, w = rng.integers(-127, 128, (17, 100), np.int8), rng.integers(-1, 2, (100, 45), np.int8)
    s = rng.random(17, "f4")
    c = f64(a) @ f64(w) * f64(s)[:, None] * 0.5
    return Trial({"a": a, "w": w, "s": s, "t": 0.5}, {"c": c})


@case()
def binary_gemv(rng: Generator) -> Trial:
    x, w, s = normal(rng, 131), rng.integers(0, 2, (29, 131), np.uint8), normal(rng, 29)
    return Trial({"x": x, "w": w, "s": s}, {"y": (f64(w) * 2 - 1) @ f64(x) * s})


@case()
def fp8_block_gemm(rng: Generator) -> Trial:
    a, b = (small(normal(rng, n, 96), "float8_e4m3fn") for n in (19, 45))
    sa, sb = rng.random((19, 3), "f4"), rng.random((2, 3), "f4")
    right = f64(b) * np.repeat(np.repeat(f64(sb), 32, 0)[:45], 32, 1)
    c = (f64(a) * np.repeat(f64(sa), 32, 1)) @ right.T
    return Trial({"a": a, "sa": sa, "b": b, "sb": sb}, {"c": c})


@case()
def quantize_fp8_blocks(rng: Generator) -> Trial:
    x = normal(rng, 11, 96, dtype=bfloat16)
    x[3, 32:64] = 0
    s = np.maximum(np.abs(f64(x)).reshape(11, 3, 32).max(2), 1e-12) / 448
    return Trial({"x": x}, {"s": s, "q": f64(x) / np.repeat(s, 32, 1)})


@case(steps=1)
def quantize_u4(rng: Generator) -> Trial:
    x = normal(rng, 7, 50)
    low = f64(x).min(1)
    step = (f64(x).max(1) - low) / 15
    q = np.rint((x - low[:, None]) / step[:, None])
    return Trial({"x": x}, {"q": q, "s": step, "z": low})


@case()
def sparse24_gemm(rng: Generator) -> Trial:
    w, x = normal(rng, 21, 32, dtype=np.float16), normal(rng, 64, 37, dtype=np.float16)
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    at = pairs[rng.integers(0, 6, (21, 16))].reshape(21, 32).astype(np.uint8)
    dense = np.zeros((21, 16, 4))
    np.put_along_axis(dense, at.reshape(21, 16, 2).astype(int), f64(w).reshape(21, 16, 2), 2)
    return Trial({"w": w, "at": at, "x": x}, {"c": dense.reshape(21, 64) @ f64(x)})
