"""Products of every pair of dtypes, in tiles of any size: machine code against NumPy."""

from __future__ import annotations

import dslc
import numpy as np
import pytest

from strategies.product_kernels import Product, check, drawn
from support.machines import kinds_here, this_cpu

CASES = [
    Product("f32", "f32", (64, 64, 32), (65, 70, 40)),
    Product("f32", "f32", (16, 48, 32), (16, 48, 64), transposed=True),
    Product("f16", "f16", (1, 32, 16), (1, 40, 33)),
    Product("bf16", "bf16", (12, 32, 33), (13, 33, 66)),
    Product("f64", "f64", (8, 24, 8), (9, 20, 20)),
    Product("i8", "i8", (8, 32, 16), (62, 62, 48), transposed=True, scaled=True),
    Product("u8", "u8", (6, 32, 33), (7, 40, 70)),
    Product("i8", "u4", (16, 32, 32), (17, 64, 96), scaled=True),
    Product("u16", "i16", (4, 16, 8), (5, 20, 20)),
    Product("i32", "i32", (4, 16, 8), (5, 20, 20)),
]


@pytest.mark.parametrize("product", CASES, ids=lambda p: f"{p.a}-{p.b}")
def test_on_this_cpu(product: Product) -> None:
    check(product, this_cpu())


@pytest.mark.parametrize("product", CASES[:1] + CASES[5:7], ids=lambda p: f"{p.a}-{p.b}")
def test_on_narrower_vectors(product: Product) -> None:
    this_cpu()
    check(product, kinds_here()[-1])


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_random_products(seed: int) -> None:
    this_cpu()
    kinds = kinds_here()
    check(drawn(seed), kinds[seed % len(kinds)], seed)


NARROW = """
kernel codes(a: i8[M, K], w: W[K, N], c: out i32[M, N]):
    for m, n in parallel(range(0, M, 4), range(0, N, 64)):
        acc = zeros(i32, [4, 64])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 4, k : k + 64], cast(w[k : k + 64, n : n + 64], i8) - 1)
        c[m : m + 4, n : n + 64] = acc
"""


@pytest.mark.parametrize("bits", [2, 4, 7])
def test_sums_of_16_bits_hold_the_extremes_of_codes(bits: int) -> None:
    """Without VNNI, pairs of products are added in 16 bits as often as these hold them."""
    target = kinds_here()[-1]
    text = NARROW.replace("W[", f"u{bits}[")
    kernel = dslc.compile(text, target=target, cache=False)["codes"]
    most = 2**bits - 1
    for activation, code in ((-128, most), (127, most), (-128, 0)):
        a = np.full((5, 192), activation, np.int8)
        w = np.full((192, 70), code, np.uint8)
        c = np.zeros((5, 70), np.int32)
        kernel(a, w, c)
        assert (c == 192 * activation * (code - 1)).all(), (activation, code)
    if "x86-64" in target:
        assert "vpmaddubsw" in kernel.specialize_for({"M": 5, "N": 70, "K": 192}, {}).source("asm")
