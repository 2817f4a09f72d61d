"""Rows of shared memory loaded as fragments, by the emulator; 8-bit ones are stored so, too."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.cuda.generate import emit
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import compiler

from support.building import dt
from support.gpu.emulation import execute
from support.gpu.fragments import staged

HOPPER = find_target("cuda:sm_90a")
WORDS = "spatial(8, 1).local(1, 8).spatial(8, 4).local(1, 2)"
COLUMNS = "spatial(1, 4).local(8, 2).column_spatial(4, 8).local(2, 1)"
BYTES = "spatial(8, 1).local(1, 4).spatial(8, 4).local(1, 4)"
DEALT = "spatial(4, 2).local(2, 2).spatial(8, 4).local(1, 4)"
BYTES_DOWN = "spatial(1, 4).local(8, 1).column_spatial(4, 8).local(2, 2)"
SWIZZLED = "swizzle(local(64, 4), dim=1).local(1, 16)"


@pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize(
    ("layout", "dtype", "memory", "first", "wide", "name"),
    [
        (WORDS, "f16", None, 0, 64, "matrix_x4("),
        (COLUMNS, "bf16", None, 8, 72, "matrix_x4_trans("),
        (BYTES, "i8", None, 0, 64, "matrix_x4("),
        (BYTES, "i8", SWIZZLED, 0, 64, "matrix_x4("),
        (BYTES, "u8", None, 16, 80, "matrix_x4("),
        (DEALT, "f8e4m3", None, 0, 64, "matrix_x4("),
    ],
)
def test_what_was_stored_is_loaded(
    layout: str, dtype: str, memory: str | None, first: int, wide: int, name: str, stores: bool
) -> None:
    kernel = staged(layout, dtype, memory=memory, first=first, wide=wide, stores=stores)
    assert ("st" if stores else "ld") + name in emit(kernel, HOPPER)[0]
    kind = storage_dtype(dt(dtype))
    size = np.dtype(kind).itemsize
    x = np.random.default_rng(1).integers(0, 1 << 14 if size == 2 else 112, (64, 64))
    bits = x.astype(f"u{size}")
    y = np.zeros_like(bits)
    execute(kernel, {"x": bits.view(kind), "y": y.view(kind)}, seed=3)
    np.testing.assert_array_equal(bits, y)


@pytest.mark.parametrize(
    ("layout", "dtype", "more"),
    [
        (BYTES, "f16", {}),  # four elements of 16 bits side by side are two matrices' words
        (WORDS, "i8", {}),  # a thread's two bytes are half a word
        (BYTES_DOWN, "i8", {}),  # only 16-bit elements are transposed
        (BYTES, "i8", {"first": 8, "wide": 80}),  # rows do not begin at 16 bytes
        (BYTES, "i8", {"wide": 72}),  # nor those below the first
        (WORDS, "f32", {}),
    ],
)
def test_what_is_no_fragment_is_loaded_by_each_thread(layout: str, dtype: str, more: dict) -> None:
    text = emit(staged(layout, dtype, **more), HOPPER)[0]
    assert "ldmatrix_x" not in text[text.index('extern "C"') :]
