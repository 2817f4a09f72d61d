"""Products exact against integer arithmetic: every remainder of rows, ragged sizes, extreme codes."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.codegen.aarch64.products.units import Problem, unit_for
from dslc.compiler.dtypes import parse_dtype

from support.aarch64 import needs_emulator

SOURCE = """
kernel product(a: A[M, K], w: W[K, N], c: out i32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(i32, [16, 32])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 16, k : k + 32], cast(w[k : k + 32, n : n + 32], i8) - ZERO)
        c[m : m + 16, n : n + 32] = acc

kernel scaled(a: A[M, K], w: W[K, N], s: f32[K // 32, N], c: out f32[M, N]):
    require K % 32 == 0
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(f32, [16, 32])
        for k in range(0, K, 32):
            part = dot(a[m : m + 16, k : k + 32], cast(w[k : k + 32, n : n + 32], i8) - ZERO)
            acc += cast(part, f32) * s[k // 32, n : n + 32]
        c[m : m + 16, n : n + 32] = acc
"""
TARGETS = ("aarch64:base", "aarch64:dotprod", "aarch64:i8mm")


@pytest.fixture(autouse=True)
def _emulator() -> None:
    needs_emulator()


@functools.cache
def library(folder: Path, target: str, a: str, w: str, zero: int) -> Any:
    path = folder / f"{a}_{w}.tile"
    text = SOURCE.replace("A[", f"{a}[").replace("W[", f"{w}[").replace("ZERO", str(zero))
    path.write_text(text)
    return dslc.compile(path, target=target, cache=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("products")


def codes(name: str, shape: tuple[int, int], seed: int) -> Any:
    low, high = parse_dtype(name).integer_range  # type: ignore[union-attr]
    kind = np.int8 if name[0] == "i" else np.uint8
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(kind)


def check(lib: Any, a: Any, w: Any, zero: int) -> None:
    c = np.full((a.shape[0], w.shape[1]), -1, np.int32)
    lib.product(a, w, c)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ (w.astype(np.int64) - zero))


@pytest.mark.parametrize("rows", range(1, 34))
def test_every_number_of_rows(folder: Path, rows: int) -> None:
    lib = library(folder, TARGETS[2], "i8", "u4", 8)
    check(lib, codes("i8", (rows, 70), rows), codes("u4", (70, 37), 1), 8)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (32, 32), (33, 31), (40, 64), (5, 100)])
@pytest.mark.parametrize("rows", [1, 5])
def test_ragged_sizes(folder: Path, target: str, n: int, k: int, rows: int) -> None:
    lib = library(folder, target, "i8", "u4", 8)
    check(lib, codes("i8", (rows, k), 2), codes("u4", (k, n), 3), 8)


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("w", [0, 15])
@pytest.mark.parametrize("a", [-128, 127])
def test_extreme_codes(folder: Path, a: int, w: int, rows: int) -> None:
    lib = library(folder, TARGETS[2], "i8", "u4", 8)
    check(lib, np.full((rows, 256), a, np.int8), np.full((256, 40), w, np.uint8), 8)


@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("a", "w", "zero"),
    [("i8", "i2", 0), ("i8", "u2", 1), ("i8", "i3", 0), ("i8", "u5", 16), ("i8", "i6", 0),
     ("i8", "i8", 0), ("u8", "u4", 8), ("u8", "i4", 0), ("i8", "u7", 0), ("i8", "u1", 0)],
)  # fmt: skip
@pytest.mark.sampled(7)
def test_every_width(folder: Path, target: str, a: str, w: str, zero: int, rows: int) -> None:
    lib = library(folder, target, a, w, zero)
    check(lib, codes(a, (rows, 96), 4), codes(w, (96, 40), 5), zero)


@pytest.mark.parametrize("rows", [1, 2, 13])
@pytest.mark.parametrize("target", TARGETS)
def test_groups(folder: Path, target: str, rows: int) -> None:
    lib = library(folder, target, "i8", "u4", 8)
    a, w = codes("i8", (rows, 128), 6), codes("u4", (128, 45), 7)
    s = np.random.default_rng(8).uniform(0.5, 2, (4, 45)).astype(np.float32)
    c = np.zeros((rows, 45), np.float32)
    lib.scaled(a, w, s, c)
    parts = a.reshape(rows, 4, 32).transpose(1, 0, 2).astype(np.float64) @ (
        w.reshape(4, 32, 45).astype(np.float64) - 8
    )
    exact = (parts * s[:, None, :].astype(np.float64)).sum(0)
    bound = 1e-6 * (np.abs(parts) * s[:, None, :]).sum(0)
    assert (np.abs(c - exact) <= bound + 1e-30).all()


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 4, 5, 7, 12, 16, 33, 128])
@pytest.mark.parametrize("features", [set(), {"dotprod"}, {"dotprod", "i8mm"}])
def test_a_register_tile_fits_the_registers(rows: int, features: set[str], scaled: bool) -> None:
    byte, word = parse_dtype("i8"), parse_dtype("i32")
    assert byte is not None
    assert word is not None
    unit = unit_for(byte, byte, word, rows, frozenset(features))
    assert unit is not None
    problem = Problem(unit, rows, 128, 256, scaled)
    high, wide = problem.solution()
    held = (high // unit.rows) * (wide // unit.columns)
    assert held * (1 + scaled) + 2 <= 32
    assert high % unit.rows == 0
    assert wide % unit.columns == 0
    if rows >= 96 and "i8mm" in features:
        assert (high, wide) == ((12, 4) if scaled else (12, 8))


def _least(problem: Problem) -> float:
    """The seed's problem solved by trying everything that fits."""
    unit = problem.unit
    sizes = [
        (r, c)
        for r in range(unit.rows, 13, unit.rows)
        for c in range(unit.columns, 65, unit.columns)
        if problem.held(r, c) <= 31 and (r % 4 == 0 or r in (1, 2)) and (c % 4 == 0 or c == 2)
        if r <= -(-problem.m // unit.rows) * unit.rows and c <= problem.n
    ]
    return min(problem.cost(r, c) for r, c in sizes)


@pytest.mark.parametrize("unpacking", [1, 4])
@pytest.mark.parametrize("rows", [2, 8, 16, 100])
@pytest.mark.parametrize("n", [16, 64, 256])
def test_no_tile_costs_less_than_the_one_that_is_chosen(rows: int, n: int, unpacking: int) -> None:
    byte, word = parse_dtype("i8"), parse_dtype("i32")
    assert byte is not None
    assert word is not None
    unit = unit_for(byte, byte, word, rows, frozenset({"dotprod", "i8mm"}))
    assert unit is not None
    problem = Problem(unit, rows, n, 256, unpacking=unpacking)
    assert problem.cost(*problem.solution()) == _least(problem)


def test_weights_that_are_dear_to_unpack_are_shared_by_more_rows() -> None:
    byte, word = parse_dtype("i8"), parse_dtype("i32")
    assert byte is not None
    assert word is not None
    unit = unit_for(byte, byte, word, 96, frozenset({"dotprod", "i8mm"}))
    assert unit is not None
    cheap, dear = (Problem(unit, 96, 96, 256, unpacking=x).solution() for x in (1, 8))
    assert dear[0] >= cheap[0]
    assert Problem(unit, 96, 96, 256, unpacking=8).cost(4, 12) > Problem(
        unit, 96, 96, 256, unpacking=8
    ).cost(12, 4)
