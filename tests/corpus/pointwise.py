"""Element by element: arguments and meaning."""

from __future__ import annotations

from math import erf

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, bfloat16, f64, normal, sigmoid

case = Family("pointwise")


def swiglu(rng: Generator, m: int, f: int) -> Trial:
    d, gate, up = (normal(rng, m, f, dtype=np.float16) for _ in range(3))
    g, s = f64(gate), sigmoid(f64(gate))
    slope = s + g * s * (1 - s)
    wanted = {"d_gate": f64(d) * up * slope, "d_up": f64(d) * g * s}
    return Trial({"d": d, "gate": gate, "up": up}, wanted)


@case()
def swiglu_backward(rng: Generator) -> Trial:
    return swiglu(rng, 7, 99)


@case("swiglu_backward of one", kernel="swiglu_backward")
def one(rng: Generator) -> Trial:
    return swiglu(rng, 1, 1)


@case("swiglu_backward of no rows", kernel="swiglu_backward")
def no_rows(rng: Generator) -> Trial:
    return swiglu(rng, 0, 99)


@case()
def geglu(rng: Generator) -> Trial:
    x = normal(rng, 5, 2 * 50, dtype=bfloat16)
    gate, up = f64(x)[:, :50], f64(x)[:, 50:]
    inner = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)
    return Trial({"x": x}, {"y": gate / 2 * (1 + np.tanh(inner)) * up})


@case()
def silu_mul_quantize_fp8(rng: Generator) -> Trial:
    gate, up = normal(rng, 7, 96), normal(rng, 7, 96)
    y = f64(gate) * sigmoid(f64(gate)) * up
    s = np.abs(y).reshape(7, 3, 32).max(2) / 448
    return Trial({"gate": gate, "up": up}, {"s": s, "q": y / np.repeat(s, 32, 1)})


@case()
def adamw(rng: Generator) -> Trial:
    w, g, m, v = normal(rng, 300), normal(rng, 300), normal(rng, 300), normal(rng, 300) ** 2
    first, second = 0.9 * f64(m) + 0.1 * g, 0.999 * f64(v) + 0.001 * f64(g) ** 2
    step = first / (1 - 0.9**7) / (np.sqrt(second / (1 - 0.999**7)) + 1e-8)
    args = {"w": w, "g": g, "m": m, "v": v, "rate": 0.01, "decay": 0.1, "step": 7}
    return Trial(args, {"w": w - 0.01 * (step + 0.1 * w), "m": first, "v": second})


def philox(counter: int, key: int) -> int:
    """The first word of Philox 4x32-10 for the counter (counter, 0, 0, 0) and the key (key, 0)."""
    c, k = [counter, 0, 0, 0], [key, 0]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


@case()
def philox_dropout(rng: Generator) -> Trial:
    x = normal(rng, 150)
    assert philox(0, 0) == 0x6627E8D5  # the test vector of Random123
    kept = np.array([(philox(i, 42) >> 8) / 2**24 < 0.75 for i in range(150)])
    return Trial({"x": x, "seed": 42, "keep": 0.75}, {"y": np.where(kept, x / 0.75, 0)})


@case(near=1e-4)
def black_scholes(rng: Generator) -> Trial:
    spot, strike, years = (
        rng.uniform(a, b, 100).astype("f4") for a, b in ((5, 30), (1, 100), (1, 9))
    )
    s, k, t = f64(spot), f64(strike), f64(years)
    d1 = (np.log(s / k) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    d2 = d1 - 0.3 * np.sqrt(t)
    n1, n2 = (np.array([(1 + erf(x / np.sqrt(2))) / 2 for x in d]) for d in (d1, d2))
    later = k * np.exp(-0.02 * t)
    wanted = {"call": s * n1 - later * n2, "put": later * (1 - n2) - s * (1 - n1)}
    args = {"spot": spot, "strike": strike, "years": years, "rate": 0.02, "vol": 0.3}
    return Trial(args, wanted)


def escape(c: complex, limit: int) -> int:
    z = 0j
    for n in range(limit):
        if abs(z) > 2:
            return n
        z = z * z + c
    return limit


@case()
def mandelbrot(rng: Generator) -> Trial:
    # Powers of two: the points are exact in f32, and no orbit of so few steps comes near the circle.
    ys, xs = np.arange(8) * (2.5 / 8) - 1.25, np.arange(32) * (3.0 / 32) - 2.0
    wanted = np.array([[escape(complex(x, y), 12) for x in xs] for y in ys])
    return Trial({"limit": 12}, {"steps": wanted})


@case(near=4e-3)
def rope_interleaved(rng: Generator) -> Trial:
    x = normal(rng, 13, 3, 16, dtype=np.float16)
    angle = np.arange(13)[:, None] / 10000.0 ** (2 * np.arange(8) / 16)
    z = (f64(x)[..., ::2] + 1j * f64(x)[..., 1::2]) * np.exp(1j * angle)[:, None]
    y = np.stack([z.real, z.imag], -1).reshape(x.shape)
    return Trial({"x": x, "base": 10000.0}, {"y": y})


@case()
def residual_gate(rng: Generator) -> Trial:
    x, residual = normal(rng, 9, 70, dtype=bfloat16), normal(rng, 9, 70, dtype=bfloat16)
    bias = normal(rng, 70, dtype=bfloat16)
    y: Array = f64(residual) + 0.25 * np.maximum(f64(x) + f64(bias), 0) ** 2
    return Trial({"x": x, "residual": residual, "bias": bias, "alpha": 0.25}, {"y": y})
