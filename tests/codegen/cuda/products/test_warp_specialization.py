"""Producer warps in CUDA C: two sides of one branch, their registers, and turns that blocks share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.codegen.cuda.warp_specialization import launched_threads
from dslc.codegen.quoting import entry_name
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import compiler

from support.gpu.emulation import execute
from support.kernels import every
from support.products import product

HOPPER = find_target("cuda:sm_90a")
emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


def lowered(
    tile: tuple[int, int, int], dtype: str = "f16", units: int = 132, **more: bool
) -> Kernel:
    found = run_passes(product(tile, dtype, **more), gpu_passes(replace(HOPPER, units=units)))
    assert isinstance(found, Kernel)
    assert every(found, ins.WarpSpecialize)
    return found


@pytest.mark.usefixtures("nvrtc")
def test_registers_go_to_the_warps_that_multiply() -> None:
    kernel = lowered((128, 256, 64))
    text, _ = emit(kernel, HOPPER)
    assert "give_registers<40>();" in text
    assert "take_registers<232>();" in text
    assert launched_threads(kernel) == 384
    assert f"__launch_bounds__({launched_threads(kernel)}, 1)" in text
    assert "barrier_of_some(256);" in text
    assert not compile_cubin(text, "sm_90a").resources[entry_name(kernel.name)].spills


def test_one_warpgroup_hands_nothing_on() -> None:
    kernel = lowered((64, 64, 64))
    text, _ = emit(kernel, HOPPER)
    assert launched_threads(kernel) == 256
    assert "take_registers" not in text


def test_warps_aside_do_nothing_but_copy() -> None:
    text = print_program(lowered((64, 64, 32)))
    line = next(x for x in text.splitlines() if "arrive @full" in x)
    worse = text.replace(line, f"{line}\n        %t = full f32(0.0) : f32[128] `spatial(128)`", 1)
    found = parse_program(worse)
    assert isinstance(found, Kernel)
    with pytest.raises(DiagnosticError, match="DSL0590"):
        emit(found, HOPPER)


@emulated
@pytest.mark.parametrize(
    ("tile", "dtype", "units", "dims"),
    [
        ((64, 64, 32), "f16", 4, (80, 112, 208)),
        ((64, 64, 32), "f16", 3, (64, 64, 512)),  # three blocks share the turn
        ((128, 128, 64), "bf16", 2, (128, 384, 320)),  # and two of them the last
        ((128, 256, 64), "f8e4m3", 2, (256, 512, 256)),  # pieces along the rows
        ((64, 64, 64), "i8", 5, (64, 128, 448)),
    ],
)
def test_blocks_take_turns_and_share_the_last(
    tile: tuple[int, int, int], dtype: str, units: int, dims: tuple[int, int, int]
) -> None:
    kernel = lowered(tile, dtype, units, across=True)
    m, n, k = dims
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (n, k))
    wanted = a @ b.T
    import ml_dtypes

    kinds = {
        "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn, "i8": np.int8,
    }  # fmt: skip
    given = [x.astype(kinds[dtype]) for x in (a, b)]
    if dtype.startswith("f8"):
        given = [x.view(np.uint8) for x in given]
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int32}.get(dtype, np.float32)
    for seed in range(3):
        c = np.zeros((m, n), kind)
        execute(kernel, {"a": given[0], "b": given[1], "c": c}, seed)
        np.testing.assert_array_equal(c, wanted.astype(kind))
