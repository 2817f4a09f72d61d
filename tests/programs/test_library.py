"""Functions of the library and loops at compile time, on every machine beside the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import MACHINES, call

FUNCTIONS = """
from std.math import isnan, isinf, log1p, expm1, atan, atan2
from std.activations import gelu, gelu_gradient, silu_gradient, softplus, mish
from std.norms import softmax, normalized, online_softmax
from std.quantization import absmax_scale, to_integers, from_codes

kernel mathematics(x: f32[N], z: f32[N], y: out f32[8, N]):
    for n in parallel(range(0, N, 64)):
        a, b = x[n : n + 64], z[n : n + 64]
        found = [log1p(abs(a)), expm1(a), atan(a), atan2(a, b), gelu(a), gelu_gradient(a),
                 silu_gradient(a), softplus(a) + mish(b)]
        for i, tile in enumerate(found):
            y[i : i + 1, n : n + 64] = reshape(tile, [1, 64])


kernel rows(x: f32[M, 64], a: out f32[M, 64], b: out f32[M, 64], c: out f32[M, 64]):
    for m in parallel(range(0, M, 4)):
        t = x[m : m + 4, :]
        a[m : m + 4, :] = softmax(t, 1)
        b[m : m + 4, :] = normalized(t, 1, 64, 1e-6)
        scale = absmax_scale(t, 1, 127)
        c[m : m + 4, :] = from_codes(to_integers(t, scale, i8, 127), scale)


kernel hadamard(x: f32[M, 16], y: out f32[M, 16]):
    for m in parallel(range(0, M, 8)):
        t = x[m : m + 8, :]
        for s in static(range(4)):
            pairs = reshape(t, [8, 8 // 2**s, 2, 2**s])
            a, b = pairs[:, :, 0:1, :], pairs[:, :, 1:2, :]
            t = reshape(concat([a + b, a - b], 2), [8, 16])
        y[m : m + 8, :] = t


kernel column_blocks(x: f32[M, 64], w: f32[64, 64], y: out f32[M, 64]):
    for m in parallel(range(0, M, 16)):
        acc = [zeros(f32, [16, 16])] * 4
        for k in range(0, 64, 16):
            a = x[m : m + 16, k : k + 16]
            for i in static(range(4)):
                acc[i] += dot(a, w[k : k + 16, 16 * i : 16 * i + 16])
        for i, block in enumerate(acc):
            y[m : m + 16, 16 * i : 16 * i + 16] = block


kernel words(y: out u32[4, N]):
    for n in parallel(range(0, N, 64)):
        for i, word in enumerate(philox_words(cast(arange(64) + n, u32))):
            y[i : i + 1, n : n + 64] = reshape(word, [1, 64])
"""
WORDS = """
from std.random import philox

def philox_words(at):
    return philox(at, at * 0, at * 0, at * 0, 7, 9)

"""
RNG = np.random.default_rng(2)


def trial(kernel: str) -> dict[str, np.ndarray]:
    def normal(*shape: int) -> np.ndarray:
        return RNG.standard_normal(shape).astype(np.float32)

    match kernel:
        case "mathematics":
            return {"x": normal(100) * 3, "z": normal(100), "y": np.zeros((8, 100), np.float32)}
        case "rows":
            return {"x": normal(10, 64), **{n: np.zeros((10, 64), np.float32) for n in "abc"}}
        case "hadamard":
            return {"x": normal(12, 16), "y": np.zeros((12, 16), np.float32)}
        case "column_blocks":
            return {"x": normal(20, 64), "w": normal(64, 64), "y": np.zeros((20, 64), np.float32)}
    return {"y": np.zeros((4, 100), np.uint32)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kernel", ["mathematics", "rows", "hadamard", "column_blocks", "words"])
@pytest.mark.parametrize("target", MACHINES)
def test_a_machine_agrees_with_the_interpreter(target: str, kernel: str) -> None:
    if kernel == "words" and target in ("nki:trn2", "aie:npu2"):
        pytest.skip("it has no integers of 64 bits")
    given = trial(kernel)
    found, wanted = ({n: a.copy() for n, a in given.items()} for _ in "fw")
    source = WORDS + FUNCTIONS
    call(target, source, found, kernel=kernel)
    call("interp", source, wanted, kernel=kernel)
    for name, array in found.items():
        np.testing.assert_allclose(array, wanted[name], rtol=3e-4, atol=3e-5, err_msg=name)
