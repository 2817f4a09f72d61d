"""Products of every pair of dtypes, in tiles of any size: machine code against NumPy."""

from __future__ import annotations

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
