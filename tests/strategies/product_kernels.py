"""Products as strangers write them: operands of any dtypes, either order of b, ragged tiles, scales."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import dslc
import numpy as np
from dslc.compiler.dtypes import DType, encode, parse_dtype, storage_dtype, to_ml_dtypes

PAIRS = [
    ("f32", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("f64", "f64"), ("f8e4m3", "f8e4m3"),
    ("i8", "i8"), ("u8", "i8"), ("i8", "u8"), ("u8", "u8"), ("i4", "i8"), ("i8", "u4"),
    ("u8", "i4"), ("i16", "i16"), ("u16", "i16"), ("i32", "i32"),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Product:
    """c = a @ b of those dtypes, in tiles [m, n, k]; `scaled` has a scale for each k tile and column.

    With `transposed` b is stored as [N, K].
    """

    a: str
    b: str
    tile: tuple[int, int, int]
    size: tuple[int, int, int]
    transposed: bool = False
    scaled: bool = False

    @property
    def out(self) -> str:
        """The dtype of c."""
        if self.scaled:
            return "f32"
        return "f64" if self.a == "f64" else "f32" if self.a[0] in "fb" else "i32"

    @property
    def source(self) -> str:
        """The kernel's text."""
        m, n, k = self.tile
        b = f"b[k : k + {k}, n : n + {n}]"
        if self.transposed:
            b = f"transpose(b[n : n + {n}, k : k + {k}])"
        product = f"dot(a[m : m + {m}, k : k + {k}], {b})"
        if self.scaled:
            product = f"cast({product}, f32) * s[k // {k}, n : n + {n}][None, :]"
        scales = ", s: f32[G, N]" if self.scaled else ""
        return f"""
kernel product(a: {self.a}[M, K], b: {self.b}[{"N, K" if self.transposed else "K, N"}]{scales},
               c: out {self.out}[M, N]):
    for m, n in parallel(range(0, M, {m}), range(0, N, {n})):
        acc = zeros({self.out}, [{m}, {n}])
        for k in range(0, K, {k}):
            acc += {product}
        c[m : m + {m}, n : n + {n}] = acc
"""


def drawn(seed: int) -> Product:
    """A product of that seed's sizes."""
    draw = random.Random(seed)
    a, b = draw.choice(PAIRS)
    m, n, k = (
        draw.choice([1, 2, 3, 4, 6, 8, 12, 16, 32, 64]),
        draw.choice([8, 16, 24, 32, 48, 64, 100]),
        draw.choice([4, 5, 8, 16, 32, 33, 64, 128]),
    )
    size = (
        draw.choice([1, m, 2 * m, m + 1, draw.randrange(1, 70)]),
        draw.choice([n, 2 * n, n + 3, draw.randrange(1, 90)]),
        draw.choice([k, 2 * k, 3 * k, k + 1, draw.randrange(1, 200)]),
    )
    exact = _dtype(a).bits + _dtype(b).bits <= 16  # or a sum of integers is no f32
    scaled = draw.random() < 0.5 and a != "f64" and (exact or a[0] in "fb")
    return Product(a, b, (m, n, k), size, draw.random() < 0.5, scaled)


def check(product: Product, target: str, seed: int = 0) -> None:
    """The product on a target, against NumPy in f64: within rounding, integers exactly."""
    rng = np.random.default_rng(seed)
    m, n, k = product.size
    a = _values(rng, product.a, (m, k))
    b = _values(rng, product.b, (n, k) if product.transposed else (k, n))
    c = np.zeros((m, n), product.out.replace("f", "float").replace("i", "int"))
    left, right = (x.astype(np.float64) for x in (a, b.T if product.transposed else b))
    args: dict[str, Any] = {"a": a, "b": b, "c": c}
    wanted = left @ right
    if product.scaled:
        step = product.tile[2]
        scales = rng.uniform(0.5, 1, (-(-k // step), n)).astype(np.float32)
        args["s"] = scales
        parts = range(0, k, step)
        wanted = sum(
            (left[:, i : i + step] @ right[i : i + step]) * scales[i // step] for i in parts
        )
    if product.out == "i32":
        wanted = wanted.astype(np.int64).astype(np.int32)
    kernel = dslc.compile(product.source, target=target, cache=False)["product"]
    for name, dtype in (("a", product.a), ("b", product.b)):
        if _dtype(dtype).bits < 8:
            args[name] = kernel.pack(name, args[name])
    kernel(**args)
    near = {"i32": 0, "f32": 1e-6, "f64": 1e-13}[product.out]
    error = np.abs(c.astype(np.float64) - wanted).max() / max(1e-9, np.abs(wanted).max())
    assert error <= near, (product, target, error)


def _dtype(name: str) -> DType:
    found = parse_dtype(name)
    assert found is not None
    return found


def _values(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> Any:
    dtype = _dtype(name)
    if dtype.is_integer:
        low, high = dtype.integer_range
        numbers = rng.integers(max(low, -(1 << 15)), min(high, 1 << 15) + 1, shape)
        return numbers.astype(storage_dtype(dtype))
    numbers = rng.uniform(-1, 1, shape)
    stored = to_ml_dtypes(dtype)
    if stored is None or dtype.bits >= 32 or name == "f16":
        return numbers.astype(storage_dtype(dtype))
    return encode(numbers, dtype).view(stored)
