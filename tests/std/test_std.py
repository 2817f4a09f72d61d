"""The library beside NumPy in f64: values, their ends, and errors in ulp."""

from __future__ import annotations

import math
from collections.abc import Callable

import dslc
import numpy as np
import pytest

RNG = np.random.default_rng(5)


def applied(module: str, name: str, *args: np.ndarray, extra: str = "") -> np.ndarray:
    """The function of the library over vectors of one dtype, on the interpreter."""
    dtype = {"float32": "f32", "uint32": "u32"}[args[0].dtype.name]
    params = ", ".join(f"x{i}: {dtype}[N]" for i in range(len(args)))
    reads = ", ".join(f"x{i}[n : n + 64]" for i in range(len(args)))
    out = "u32" if name in ("popcount", "clz", "mulhi") else "f32"
    source = f"""
from std.{module} import {name}

kernel f({params}, y: out {out}[N]):
    for n in parallel(range(0, N, 64)):
        y[n : n + 64] = cast({name}({reads}{extra}), {out})
"""
    y = np.empty(len(args[0]), {"u32": np.uint32, "f32": np.float32}[out])
    dslc.compile(source, "interp", cache=False).f(*args, y)
    return y


def ulps(found: np.ndarray, exact: np.ndarray) -> float:
    rounded = exact.astype(np.float32)
    gap = np.spacing(np.maximum(np.abs(rounded), np.float32(1e-37))).astype(np.float64)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    return float((np.abs(found[finite] - exact[finite]) / gap[finite]).max())


def spread(low: float, high: float) -> np.ndarray:
    """Numbers of both signs over magnitudes from low to high."""
    x = np.exp(RNG.uniform(math.log(low), math.log(high), 4000))
    return (x * RNG.choice([-1, 1], x.size)).astype(np.float32)


ENDS = np.array([0.0, np.inf, -np.inf, np.nan], np.float32)
UNARY: dict[str, tuple[Callable[..., np.ndarray], np.ndarray, float]] = {
    "log1p": (np.log1p, np.append(np.abs(spread(1e-9, 1e9)), -spread(1e-9, 0.9)), 4),
    "expm1": (np.expm1, spread(1e-9, 80), 6),
    "tan": (np.tan, spread(1e-6, 1.5), 4),
    "sinh": (np.sinh, spread(1e-6, 80), 6),
    "cosh": (np.cosh, spread(1e-6, 80), 4),
    "atan": (np.arctan, np.append(spread(1e-9, 1e9), ENDS), 3),
    "asin": (np.arcsin, spread(1e-6, 1), 5),
    "acos": (np.arccos, spread(1e-6, 0.98), 5),
}


@pytest.mark.parametrize("name", UNARY)
def test_errors_are_as_they_are_stated(name: str) -> None:
    exact, x, bound = UNARY[name]
    with np.errstate(all="ignore"):
        found = applied("math", name, x)
        assert ulps(found, exact(x.astype(np.float64))) <= bound


def test_ends_of_log1p_and_expm1() -> None:
    x = np.array([0.0, -0.0, np.inf, -1.0, 1e-30, np.nan], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(applied("math", "log1p", x), np.log1p(x))
        x = np.array([0.0, np.inf, -np.inf, -200.0, 1e-30, np.nan], np.float32)
        np.testing.assert_array_equal(applied("math", "expm1", x), np.expm1(x))


def test_atan2_has_all_quadrants() -> None:
    y, x = spread(1e-3, 1e3), spread(1e-3, 1e3)
    x[:3], y[:3] = [0, 0, -1], [0, 1, 0]
    expected = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    np.testing.assert_allclose(applied("math", "atan2", y, x), expected, rtol=5e-7, atol=1e-7)


def test_predicates() -> None:
    x = np.append(ENDS, np.float32(-3))
    for name, known in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        np.testing.assert_array_equal(applied("math", name, x), known(x))
    np.testing.assert_array_equal(applied("math", "sign", x), np.sign(x))


def test_bits() -> None:
    x = np.append(RNG.integers(0, 2**32, 500, dtype=np.uint32), [0, 1, 2**31, 2**32 - 1])
    x = x.astype(np.uint32)
    counts = np.array([int(v).bit_count() for v in x])
    np.testing.assert_array_equal(applied("math", "popcount", x), counts)
    lengths = np.array([32 - int(v).bit_length() for v in x])
    np.testing.assert_array_equal(applied("math", "clz", x), lengths)
    y = RNG.permutation(x)
    wide = (x.astype(np.uint64) * y.astype(np.uint64)) >> np.uint64(32)
    np.testing.assert_array_equal(applied("math", "mulhi", x, y), wide)


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu_squared": lambda x: np.maximum(x, 0) ** 2,
    "softplus": lambda x: np.logaddexp(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_their_derivatives(name: str) -> None:
    x = RNG.uniform(-8, 8, 500).astype(np.float32)
    exact = ACTIVATIONS[name]
    wide = x.astype(np.float64)
    np.testing.assert_allclose(applied("activations", name, x), exact(wide), rtol=2e-5, atol=2e-6)
    if name in ("relu", "softplus", "silu", "gelu", "gelu_tanh"):
        slope = (exact(wide + 1e-5) - exact(wide - 1e-5)) / 2e-5
        found = applied("activations", f"{name}_gradient", x)
        np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-5)


def philox(counter: list[int], key: list[int]) -> list[int]:
    """The paper's algorithm by Python's integers."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


RANDOM = """
from std.random import random_bits, uniform, normal, philox

kernel words(seed: u32, y: out u32[N], u: out f32[N], z: out f32[N]):
    for n in parallel(range(0, N, 64)):
        at = cast(arange(64) + n, u32)
        y[n : n + 64] = random_bits(seed, at)
        u[n : n + 64] = uniform(seed, at)
        z[n : n + 64] = normal(seed, at)


kernel block(c: u32[4, N], k: u32[2], y: out u32[4, N]):
    for n in parallel(range(0, N, 64)):
        w = philox(c[0, n : n + 64], c[1, n : n + 64], c[2, n : n + 64], c[3, n : n + 64], k[0], k[1])
        for i in static(range(4)):
            y[i, n : n + 64] = w[i]
"""


def test_philox_gives_the_paper_s_words() -> None:
    lib = dslc.compile(RANDOM, "interp", cache=False)
    # Known answers of the authors' library (Random123, kat_vectors).
    known = [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ]
    for counter, key, words in known:
        assert philox(counter, key) == words
        c = np.repeat(np.array(counter, np.uint32)[:, None], 3, axis=1)
        y = np.empty((4, 3), np.uint32)
        lib.block(c, np.array(key, np.uint32), y)
        np.testing.assert_array_equal(y[:, 0], words)


def test_random_numbers_follow_from_seed_and_offset() -> None:
    lib = dslc.compile(RANDOM, "interp", cache=False)
    n = 20_000
    y, u, z = np.empty(n, np.uint32), np.empty(n, np.float32), np.empty(n, np.float32)
    lib.words(7, y, u, z)
    for i in (0, 1, 63, 64, n - 1):
        assert int(y[i]) == philox([i, 0, 0, 0], [7, 0])[0]
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < 0.01
    assert np.isfinite(z).all()
    assert abs(z.mean()) < 0.03
    assert abs(z.std() - 1) < 0.03


ROWS = """
from std.norms import softmax, log_softmax, rms_normalized, normalized, online_softmax
from std.math import logsumexp
from std.quantization import absmax_scale, to_integers, from_codes, power_of_two_scale
from std.positions import rotated, rotated_back

kernel rows(x: f32[M, 48], a: out f32[M, 48], b: out f32[M, 48], c: out f32[M, 48],
            d: out f32[M, 48], e: out f32[M], f: out f32[M]):
    for m in parallel(range(0, M, 4)):
        t = x[m : m + 4, :]
        a[m : m + 4, :] = softmax(t, 1)
        b[m : m + 4, :] = log_softmax(t, 1)
        c[m : m + 4, :] = rms_normalized(t, 1, 48, 1e-6)
        d[m : m + 4, :] = normalized(t, 1, 48, 1e-6)
        e[m : m + 4] = logsumexp(t, 1)
        top = full(f32, [4], -inf)
        total = zeros(f32, [4])
        for k in range(0, 48, 16):
            top, total, shrink, p = online_softmax(top, total, x[m : m + 4, k : k + 16])
        f[m : m + 4] = top + log(total)


kernel codes(x: f32[M, 48], y: out f32[M, 48], s: out f32[M, 1], p: out f32[M, 1]):
    for m in parallel(range(0, M, 4)):
        t = x[m : m + 4, :]
        scale = absmax_scale(t, 1, 127)
        y[m : m + 4, :] = from_codes(to_integers(t, scale, i8, 127), scale)
        s[m : m + 4, :] = scale
        p[m : m + 4, :] = power_of_two_scale(t, 1, 6)


kernel turned(x: f32[M, 48], c: f32[M, 24], s: f32[M, 24], y: out f32[M, 48], z: out f32[M, 48]):
    for m in parallel(range(0, M, 4)):
        c4, s4 = c[m : m + 4, :], s[m : m + 4, :]
        a, b = rotated(x[m : m + 4, 0:24], x[m : m + 4, 24:48], c4, s4)
        y[m : m + 4, 0:24] = a
        y[m : m + 4, 24:48] = b
        a, b = rotated_back(a, b, c4, s4)
        z[m : m + 4, 0:24] = a
        z[m : m + 4, 24:48] = b
"""


def test_functions_over_rows() -> None:
    lib = dslc.compile(ROWS, "interp", cache=False)
    x = (RNG.standard_normal((10, 48)) * 9).astype(np.float32)
    x[0] *= 40
    wide = x.astype(np.float64)
    a, b, c, d = (np.empty_like(x) for _ in "abcd")
    e, f = np.empty(10, np.float32), np.empty(10, np.float32)
    lib.rows(x, a, b, c, d, e, f)
    sums = np.log(np.exp(wide - wide.max(1, keepdims=True)).sum(1)) + wide.max(1)
    np.testing.assert_allclose(a, np.exp(wide - sums[:, None]), rtol=1e-4, atol=1e-30)
    np.testing.assert_allclose(b, wide - sums[:, None], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(c, wide / np.sqrt((wide**2).mean(1, keepdims=True)), rtol=1e-5)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True))
    np.testing.assert_allclose(d, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(e, sums, rtol=1e-6)
    np.testing.assert_allclose(f, sums, rtol=1e-6)


def test_quantisation_and_rotation() -> None:
    lib = dslc.compile(ROWS, "interp", cache=False)
    x = RNG.standard_normal((9, 48)).astype(np.float32)
    x[3] = 0
    y, s, p = np.empty_like(x), np.empty((9, 1), np.float32), np.empty((9, 1), np.float32)
    lib.codes(x, y, s, p)
    top = np.abs(x).max(1, keepdims=True)
    assert (np.abs(y - x) <= s * 0.5001).all()
    np.testing.assert_allclose(s, np.where(top == 0, 1, top / 127), rtol=1e-6)
    assert (np.log2(p) % 1 == 0).all()
    assert ((top / p <= 6) & ((top / p > 3) | (top == 0))).all()
    angle = RNG.uniform(-3, 3, (9, 24))
    c, d = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    z = np.empty_like(x)
    lib.turned(x, c, d, y, z)
    whole = (x[:, :24] + 1j * x[:, 24:]) * np.exp(1j * angle)
    np.testing.assert_allclose(y, np.concatenate([whole.real, whole.imag], 1), atol=1e-6)
    np.testing.assert_allclose(z, x, atol=1e-6)
