"""Kernels over rows of any length, drawn at random, and what the interpreter says that they write.

A row is a slice that may begin and end within the tensor: what lies beside it must stay as it is.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.dtypes import DType, cast, parse_dtype, storage_dtype
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel

from support.kernels import one

FLOATS = ("f32", "f16", "bf16", "f64")
INTEGERS = ("i32", "i8", "u8", "i64", "u16")
# What follows `a = x[rows, row]`; `z` is of the dtype and shape of x, `r` of one element a row.
BODIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "softmax": (
        "f = cast(a, f32)\n"
        "e = exp(f - max(f, 1, keepdims=True))\n"
        "z[m : m + B, S : S + N] = cast(e / sum(e, 1, keepdims=True), T)",
        FLOATS,
    ),
    "layernorm": (
        "f = cast(a, f32)\n"
        "c = f - sum(f, 1, keepdims=True) / N\n"
        "v = rsqrt(sum(c * c, 1, keepdims=True) / N + 1e-5)\n"
        "z[m : m + B, S : S + N] = cast(c * v, T)",
        FLOATS,
    ),
    "rmsnorm": (
        "f = cast(a, f32)\n"
        "z[m : m + B, S : S + N] = cast(f * rsqrt(sum(f * f, 1, keepdims=True) / N + 1e-5), T)",
        FLOATS,
    ),
    "cross_entropy": (
        "f = cast(a, f32)\n"
        "t = max(f, 1)\n"
        "all = log(sum(exp(f - t[:, None]), 1)) + t\n"
        "own = sum(where(arange(N)[None, :] == r[m : m + B][:, None] % N, f, 0.0), 1)\n"
        "r[m : m + B] = cast(round((all - own) * 100.0), i32)",
        FLOATS,
    ),
    "sum": ("r[m : m + B] = cast(sum(a, 1), i32)", INTEGERS),
    "max": ("z[m : m + B, S : S + N] = a - max(a, 1, keepdims=True)", (*FLOATS, *INTEGERS)),
    "min": ("z[m : m + B, S : S + N] = a - min(a, 1, keepdims=True)", (*FLOATS, *INTEGERS)),
    "argmax": ("r[m : m + B] = argmax(a, 1)", (*FLOATS, *INTEGERS)),
    "argmin": ("r[m : m + B] = argmin(a, 1)", (*FLOATS, *INTEGERS)),
    "any": ("r[m : m + B] = cast(any(a > 3, 1), i32)", (*FLOATS, *INTEGERS)),
    "all": ("r[m : m + B] = cast(all(a > -9, 1), i32)", ("f32", "i32")),
    "cumsum": ("z[m : m + B, S : S + N] = cumsum(a, 1)", ("f32", "f64", "i32", "i64")),
    "columns": ("z[m : m + B, S : S + N] = a - sum(a, 0, keepdims=True)", ("f32", "i32", "i64")),
    "quotients": ("z[m : m + B, S : S + N] = (a // (a + 9)) % (a + 5)", ("i32", "i64")),
    "middle": (
        "b = reshape(a, [B, N, 1])\n"
        "z[m : m + B, S : S + N] = reshape(b - max(b, 1, keepdims=True), [B, N])",
        ("f32", "i32"),
    ),
    "turned": (
        "b = transpose(a)\nz[m : m + B, S : S + N] = transpose(b * 2 - max(b, 0, keepdims=True))",
        ("f16", "f32", "i32"),
    ),
    "joined": ("b = concat([a, a], 1)\nz[m : m + B, S : S + N] = b[:, N // 2 : N // 2 + N]", ("i32",)),
    "flat": ("r[m : m + B] = max(max(reshape(a, [B, N, 1]), 2), 1)", ("i32",)),
    # Blocks of the whole row, whose loads run iterations ahead.
    "looped": (
        "t = zeros(f32, [B, N])\n"
        "for n in range(0, W, N):\n"
        "    t += cast(x[m : m + B, n : n + N], f32) + cast(a, f32)\n"
        "r[m : m + B] = cast(round(sum(t, 1)), i32)",
        ("f32", "f16", "i8", "i32", "bf16"),
    ),
    # The same rows from 3 before their start on: what lies before a tensor's row reads 0.
    "halo": (
        "b = x[m : m + B, m - m + S - 3 : m - m + S - 3 + N]\nz[m : m + B, S : S + N] = a + b",
        ("f32", "f16", "i32"),
    ),
    "scattered": (
        "scatter(z[m : m + B, :], S + N - 1 - arange(N), a, 1)", ("f32", "i32", "f16"),
    ),
    "gathered": (
        "z[m : m + B, S : S + N] = gather(x[m : m + B, :], S + N - 1 - arange(N), 1)",
        ("f32", "i32", "f16"),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """One kernel: `block` rows a turn, `extent` elements of each from `start` on, `beside` behind."""

    body: str
    dtype: str
    extent: int
    block: int = 1
    start: int = 0
    beside: int = 0
    count: int = 3
    signs: str = "mixed"

    @property
    def source(self) -> str:
        """The kernel's text."""
        lines = BODIES[self.body][0].split("\n")
        return (
            f"const T = {self.dtype}\nconst B = {self.block}\nconst N = {self.extent}\n"
            f"const S = {self.start}\nconst W = {self.width}\n\n"
            f"kernel k(x: T[M, {self.width}], z: inout T[M, {self.width}], r: inout i32[M]):\n"
            "    for m in parallel(range(0, M, B)):\n"
            "        a = x[m : m + B, S : S + N]\n" + "".join(f"        {s}\n" for s in lines)
        )

    @property
    def width(self) -> int:
        """The elements of a row of the tensors."""
        return self.start + self.extent + self.beside

    @property
    def kernel(self) -> Kernel:
        """Its Tile IR."""
        return one(self.source)

    def args(self, seed: int) -> dict[str, Any]:
        """Arguments: rows of small numbers, and results that hold something."""
        rng = np.random.default_rng(seed)
        dtype = parse_dtype(self.dtype)
        shape = (self.count, self.width)
        return {
            "x": values(rng, dtype, shape, self.signs),
            "z": values(rng, dtype, shape),
            "r": rng.integers(0, 1000, self.count).astype(np.int32),
        }

    def wanted(self, seed: int) -> dict[str, Any]:
        """What the interpreter makes of these arguments."""
        args = self.args(seed)
        run(self.kernel, args, Options())
        return args


def values(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], signs: str = "mixed"
) -> Any:
    """Numbers of a dtype as it is stored, quarters or whole: of both signs, of one, or the least."""
    least, most = {"positive": (1, 8), "negative": (-8, -1)}.get(signs, (-8, 8))
    if not dtype.is_signed:
        least, most = (most, most + 8) if signs == "negative" else (max(0, least), most)
    numbers = rng.integers(4 * least, 4 * most + 1, shape) / 4
    if not dtype.is_float:
        numbers = np.trunc(numbers)
    if signs == "least" and dtype.is_float:
        numbers[:] = -np.inf
    return cast(numbers.astype(np.float32), parse_dtype("f32"), dtype).astype(storage_dtype(dtype))


def drawn(seed: int, count: int, most: int = 600) -> list[Rows]:
    """Kernels over rows of 1 to `most` elements; every body comes in turn."""
    rng = random.Random(seed)
    names = list(BODIES)
    rng.shuffle(names)
    return [_drawn(rng, names[n % len(names)], most) for n in range(count)]


def _drawn(rng: random.Random, body: str, most: int) -> Rows:
    dtype = rng.choice(BODIES[body][1])
    beside = rng.choice((0, 0, 1, 8))
    block = rng.choice((1, 1, 2, 5, 17))
    extent = rng.randint(1, most)
    signs = rng.choice(("mixed", "mixed", "positive", "negative"))
    if body in ("argmax", "argmin", "max", "min") and rng.random() < 0.2:
        signs = "least"
    return Rows(
        body, dtype, extent, block, rng.choice((0, 0, 1, 8)), beside, rng.choice((1, 5, 20)), signs
    )


def check(rows: Rows, found: dict[str, Any], seed: int) -> None:
    """What was written is what the interpreter writes; sums in another order round otherwise."""
    loose = {"f16": 4e-3, "bf16": 3e-2}.get(rows.dtype, 1e-4)
    for name, expected in rows.wanted(seed).items():
        np.testing.assert_allclose(
            found[name].astype(np.float64),
            expected.astype(np.float64),
            loose,
            loose,
            err_msg=str(rows),
        )
