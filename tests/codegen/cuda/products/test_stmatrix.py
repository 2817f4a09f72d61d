"""Fragments stored to shared memory as rows, by the emulator: what is read back is what was stored."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.cuda.generate import emit
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import compiler

from support.building import dt
from support.gpu.emulation import execute
from support.gpu.fragments import staged
from support.products import product

HOPPER, AMPERE = find_target("cuda:sm_90a"), find_target("cuda:sm_80")
ROWS = "spatial(4, 1).column_local(2, 8).spatial(8, 4).local(1, 2)"  # wgmma's results
FEW = "spatial(4, 1).local(2, 1).local(1, 8).spatial(8, 4).local(1, 2)"
ONE = "spatial(8, 1).local(1, 8).spatial(8, 4).local(1, 2)"
COLUMNS = "spatial(1, 4).local(8, 2).column_spatial(4, 8).local(2, 1)"
PAIRS = "spatial(16, 8).local(4, 8)"  # no fragment
COPIES = "replicate(2).spatial(4, 1).column_local(2, 8).spatial(8, 4).local(1, 2)"
SWIZZLED = "swizzle(local(64, 8), dim=1).local(1, 8)"


@pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize(
    ("layout", "memory", "first", "wide", "name"),
    [
        (ROWS, None, 0, 64, "stmatrix_x4("),
        (ROWS, SWIZZLED, 0, 64, "stmatrix_x4("),
        (ROWS, None, 8, 72, "stmatrix_x4("),
        (FEW, SWIZZLED, 0, 64, "stmatrix_x4("),
        (ONE, None, 0, 64, "stmatrix_x4("),
        (COLUMNS, None, 0, 64, "stmatrix_x4_trans("),
        (COLUMNS, SWIZZLED, 0, 64, "stmatrix_x4_trans("),
    ],
)
def test_what_was_stored_is_read_back(
    layout: str, memory: str | None, first: int, wide: int, name: str, dtype: str
) -> None:
    kernel = staged(layout, dtype, memory=memory, first=first, wide=wide, stores=True)
    assert name in emit(kernel, HOPPER)[0]
    x = np.random.default_rng(1).integers(0, 1 << 15, (64, 64)).astype(np.uint16)
    x = x & np.uint16(0x3FFF)  # finite
    y = np.zeros_like(x)
    kind = storage_dtype(dt(dtype))
    execute(kernel, {"x": x.view(kind), "y": y.view(kind)}, seed=3)
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("layout", "more"),
    [
        (PAIRS, {}),  # threads have rows of their own
        (COPIES, {}),  # two warps hold the same
        (ROWS, {"first": 4, "wide": 72}),  # rows do not begin at 16 bytes
        (ROWS, {"wide": 68}),  # nor those below the first
        (ROWS, {"dtype": "f32"}),
    ],
)
def test_what_is_no_fragment_is_stored_by_each_thread(layout: str, more: dict) -> None:
    kernel = staged(layout, **{"dtype": "f16", "stores": True, **more})
    assert "stmatrix" not in emit(kernel, HOPPER)[0]


def test_ampere_has_no_such_instruction() -> None:
    assert "stmatrix" not in emit(staged(ROWS, "f16", stores=True), AMPERE)[0]


@pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
def test_the_results_of_a_product_go_out_by_it() -> None:
    kernel = run_passes(product((128, 128, 64)), gpu_passes(HOPPER, stages=2))
    assert isinstance(kernel, Kernel)
    text, _ = emit(kernel, HOPPER)
    assert "stmatrix_x4(c_tile" in text
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((144, 64), (64, 160)))
    c = np.zeros((144, 160), np.float16)
    execute(kernel, {"a": a, "b": b, "c": c}, seed=1)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
