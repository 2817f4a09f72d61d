"""Kernels that a program calls are chosen for the call's sizes where the machine says so."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.ir import Program
from dslc.compiler.ir.arithmetic.affine import constant

SOURCE = """
kernel product(a: f32[M, K], w: u4[K, N], c: out f32[M, N]):
    tune BM = 16 | 64
    for m, n in parallel(range(0, M, BM), range(0, N, 64)):
        acc = zeros(f32, [BM, 64])
        for k in range(0, K, 64):
            acc += dot(a[m : m + BM, k : k + 64], cast(w[k : k + 64, n : n + 64], f32))
        c[m : m + BM, n : n + 64] = acc

kernel whole(x: f32[M, N], y: out f32[M, N]):
    tune BM = 2 | 16
    require M % BM == 0
    for m in parallel(range(0, M, BM)):
        y[m : m + BM, :] = x[m : m + BM, :] * 2.0

program once(a: f32[M, K], w: u4[K, N], c: out f32[M, N]):
    product(a, w, c)

program named(a: f32[M, K], w: u4[K, N], c: out f32[M, N]):
    product(a, w, c, BM=16)

program doubled(x: f32[M, N], y: out f32[M, N]):
    whole(x, y)
"""
WIDTHS = {"K": 256, "N": 128}


@pytest.fixture(scope="module")
def library() -> dslc.Library:
    return dslc.compile(SOURCE, target="cpu:x86-64-v3", cache=False)


def rows_of(program: Any, m: int) -> int:
    """The rows of a block of the product that it calls."""
    lowered = program.specialize_for({"M": m, **WIDTHS}, {}).lowered()
    assert isinstance(lowered, Program)
    step = constant(lowered.calls[-1].kernel.grid[0].step)
    assert isinstance(step, int)
    return step


@pytest.mark.parametrize("m", [1, 256])
def test_a_call_has_the_choices_of_the_kernel_alone(library: dslc.Library, m: int) -> None:
    alone = library["product"].specialize_for({"M": m, **WIDTHS}, {}).config
    assert alone["BM"] == (16 if m == 1 else 64)
    assert rows_of(library["once"], m) == alone["BM"]


def test_what_a_call_names_stays(library: dslc.Library) -> None:
    assert rows_of(library["named"], 256) == 16


def test_sizes_with_the_same_choices_share_code_and_all_share_one_packing(
    library: dslc.Library,
) -> None:
    first, second, few = (
        library["once"].specialize_for({"M": m, **WIDTHS}, {}) for m in (226, 498, 1)
    )
    assert first is second
    assert first is not few
    codes = np.arange(256 * 128).reshape(256, 128).astype(np.uint8) % 16
    assert np.array_equal(few.pack("w", codes), first.pack("w", codes))


def test_what_a_kernel_requires_holds_for_the_sizes_themselves(library: dslc.Library) -> None:
    """Rounded up 18 rows are 32, which blocks of 16 would divide."""
    for m in (16, 18, 32):
        lowered = library["doubled"].specialize_for({"M": m, "N": 64}, {}).lowered()
        step = constant(lowered.calls[0].kernel.grid[0].step)
        assert isinstance(step, int)
        assert m % step == 0
