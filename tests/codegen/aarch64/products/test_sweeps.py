"""Loops of products in many forms, against the interpreter: what may be swept, and what may not."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest

from support.aarch64 import needs_emulator

HEAD = """
kernel k(a: i8[M, K], w: i8[K, N], s: f32[K // 32, N], t: f32[M], f: f32[M, K], g: f32[K, N],
         first: i32, last: i32, c: out f32[M, N]):
    require K % 32 == 0
    for m, n in parallel(range(0, M, 8), range(0, N, 16)):
"""
BODIES = {
    "from and to scalars of the call": """
        acc = zeros(i32, [8, 16])
        for k in range(first * 32, last * 32, 32):
            acc += dot(a[m : m + 8, k : k + 32], w[k : k + 32, n : n + 16])
        c[m : m + 8, n : n + 16] = cast(acc, f32)
""",
    "groups from and to scalars of the call": """
        acc = zeros(f32, [8, 16])
        for i in range(first, last):
            part = dot(a[m : m + 8, i * 32 : i * 32 + 32], w[i * 32 : i * 32 + 32, n : n + 16])
            acc += cast(part, f32) * s[i, n : n + 16]
        c[m : m + 8, n : n + 16] = acc
""",
    "every other group": """
        acc = full(f32, [8, 16], 1.5)
        for k in range(0, K, 64):
            part = dot(a[m : m + 8, k : k + 32], w[k : k + 32, n : n + 16])
            acc += cast(part, f32) * s[k // 32, n : n + 16] * t[m : m + 8, None]
        c[m : m + 8, n : n + 16] = acc
""",
    "sums that shrink": """
        acc = zeros(f32, [8, 16])
        for k in range(0, K, 32):
            part = dot(a[m : m + 8, k : k + 32], w[k : k + 32, n : n + 16])
            acc = acc * 0.5 + cast(part, f32)
        c[m : m + 8, n : n + 16] = acc
""",
    "a sum that reads another row": """
        acc = zeros(f32, [8, 16])
        for k in range(0, K, 32):
            part = cast(dot(a[m : m + 8, k : k + 32], w[k : k + 32, n : n + 16]), f32)
            acc = part + max(acc, 0)[None, :] * 0.25
        c[m : m + 8, n : n + 16] = acc
""",
    "a product of what is carried": """
        acc = f[m : m + 8, 0:16]
        for k in range(0, K, 16):
            acc = dot(acc, g[k : k + 16, n : n + 16]) * 0.5
        c[m : m + 8, n : n + 16] = acc
""",
    "products of f32": """
        acc = zeros(f32, [8, 16])
        for k in range(0, K, 32):
            acc += dot(f[m : m + 8, k : k + 32], g[k : k + 32, n : n + 16])
        c[m : m + 8, n : n + 16] = acc * t[m : m + 8, None]
""",
    "an operand made of two": """
        acc = zeros(f32, [8, 16])
        for k in range(0, K, 32):
            b = g[k : k + 32, n : n + 16] * s[k // 32, n : n + 16]
            acc += dot(f[m : m + 8, k : k + 32] * 2 + 1, b)
        c[m : m + 8, n : n + 16] = acc
""",
    "two products in an iteration": """
        acc = zeros(i32, [8, 16])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 8, k : k + 32], w[k : k + 32, n : n + 16])
            acc += dot(a[m : m + 8, k : k + 32], w[k : k + 32, n : n + 16])
        c[m : m + 8, n : n + 16] = cast(acc, f32)
""",
    "a loop in a loop": """
        acc = zeros(i32, [8, 16])
        for i in range(0, K, 64):
            for k in range(i, i + 64, 32):
                acc += dot(a[m : m + 8, k : k + 32], w[k : k + 32, n : n + 16])
        c[m : m + 8, n : n + 16] = cast(acc, f32)
""",
}
TARGETS = ("aarch64:base", "aarch64:dotprod", "aarch64:i8mm")


@pytest.fixture(autouse=True)
def _emulator() -> None:
    needs_emulator()


@functools.cache
def kernel(folder: Path, body: str, target: str) -> Any:
    path = folder / f"{body.replace(' ', '_')}.tile"
    path.write_text(HEAD + BODIES[body].removeprefix("\n"))
    return dslc.compile(path, target=target, cache=False).k


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweeps")


def problem(m: int, groups: int, n: int) -> list[Any]:
    rng = np.random.default_rng(m)
    k = 32 * groups
    a = rng.integers(-128, 127, (m, k), endpoint=True).astype(np.int8)
    w = rng.integers(-128, 127, (k, n), endpoint=True).astype(np.int8)
    s = rng.uniform(0.5, 2, (groups, n)).astype(np.float32)
    f, g = (rng.integers(-4, 5, x).astype(np.float32) for x in ((m, k), (k, n)))
    return [a, w, s, rng.uniform(0.5, 2, m).astype(np.float32), f, g, 1, groups - 1]


@pytest.mark.parametrize("rows", [1, 13])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.sampled(5)
def test_a_loop_gives_what_the_interpreter_does(
    folder: Path, body: str, target: str, rows: int
) -> None:
    arguments = problem(rows, 6, 20)
    expected, found = (np.full((rows, 20), np.nan, np.float32) for _ in range(2))
    kernel(folder, body, "interp")(*arguments, expected)
    kernel(folder, body, target)(*arguments, found)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
