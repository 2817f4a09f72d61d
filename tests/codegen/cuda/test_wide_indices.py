"""Indices beyond 32 bits: offsets of large tensors, and counters of flattened loops."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dslc.checker import check_module
from dslc.codegen.cuda.generate import emit
from dslc.compiler.ir import Kernel
from dslc.frontend import parse_tile
from dslc.runtime.cuda_emulator import compiler

from support.gpu.emulation import TARGET, execute, lower

SOURCE = """
kernel flat(x: f32[M, N], y: out f32[M, N]):
    for i in parallel(range(0, M * N)):
        y[i // N, i % N] = x[i // N, i % N] * 2

kernel loop(x: f32[M, N], y: out f32[M, N]):
    for j in parallel(range(1)):
        for i in range(j, M * N):
            y[i // N, i % N] = x[i // N, i % N] * 2

kernel rows(x: f32[M, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 4), range(0, N, 64)):
        y[m : m + 4, n : n + 64] = x[m : m + 4, n : n + 64] * 2

kernel pick(x: f32[M, N], ids: i32[K], y: out f32[K, N]):
    for k, n in parallel(range(0, K, 16), range(0, N, 64)):
        y[k : k + 16, n : n + 64] = gather(x[:, n : n + 64], ids[k : k + 16], 0)

kernel apart(x: f32[M, N] strides (sm, sn), y: out f32[M, N]):
    for m, n in parallel(range(0, M, 4), range(0, N, 64)):
        y[m : m + 4, n : n + 64] = x[m : m + 4, n : n + 64]

kernel columns(x: f32[64, 134217728], y: out f32[64, 32]):
    acc = zeros(f32, [64, 32])
    for k in range(0, 134217728, 32, stages=6):
        acc += x[:, k : k + 32]
    y[:, :] = acc
"""


def lowered(name: str) -> Kernel:
    module = check_module(parse_tile(SOURCE, "wide.tile"))
    kernel = lower(module.templates[name].elaborate({}, {}))
    assert isinstance(kernel, Kernel)
    return kernel


def body(name: str) -> str:
    text, _ = emit(lowered(name), TARGET)
    return text.partition("__global__")[2]


def test_the_counter_of_a_flattened_grid_is_wide() -> None:
    assert re.search(r"const long long i\w* = \(\(long long\)\(turn\)\);", body("flat"))


def test_distances_between_a_threads_copies_are_wide() -> None:
    """Of rows of 512 MiB."""
    found = re.findall(r"copy_async_16\([^;]*first\w* \+ i\w* \* (\d+)(L*)", body("columns"))
    assert found == [(str(32 << 27), "LL")] * 2


def test_the_counter_of_a_flattened_loop_is_wide() -> None:
    assert re.search(r"for \(long long i\w* = ", body("loop"))


def test_plain_counters_are_not() -> None:
    assert re.search(r"const int m = ", body("rows"))


@pytest.mark.parametrize("name", ["flat", "loop", "rows", "pick", "apart"])
def test_every_row_is_found_by_a_wide_product(name: str) -> None:
    """No row number is multiplied by a pitch in 32 bits."""
    for access in re.findall(r"(?:\bx|\(x\)\[|\by|\(y\)\[) ?\+? ?([^,;{}]+)", body(name)):
        for product in re.findall(r"\) \* (?:N|sm|sn)\b", access):
            assert "(long long)" in access, (product, access)


@pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
@pytest.mark.parametrize("name", ["flat", "loop", "rows"])
def test_they_compute_what_they_say(name: str) -> None:
    x = np.arange(5 * 70, dtype=np.float32).reshape(5, 70)
    y = np.full_like(x, np.nan)
    execute(lowered(name), {"x": x, "y": y})
    assert np.array_equal(y, x * 2)


@pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
def test_rows_are_picked() -> None:
    x = np.arange(5 * 70, dtype=np.float32).reshape(5, 70)
    ids = np.array([4, 0, -1, 3, 5, 2, 2], np.int32)
    y = np.full((7, 70), np.nan, np.float32)
    execute(lowered("pick"), {"x": x, "ids": ids, "y": y})
    inside = (ids >= 0) & (ids < 5)
    assert np.array_equal(y, np.where(inside[:, None], x[np.clip(ids, 0, 4)], 0))
