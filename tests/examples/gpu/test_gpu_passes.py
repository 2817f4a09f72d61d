"""Every example means the same after the passes of a GPU, copies landing only at their wait."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dslc.compiler import interpreter
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Kernel, Requirement, TileProgram
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Binary, index
from dslc.compiler.ir.rewrite import kernels, map_kernels
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.runtime import packing
from elaboration import elaborated

from calls import TABLE, hold, problem

TARGET = find_target("cuda:sm_90a")
PRODUCTS = ("gemm", "gemm_quantized", "gemm_w4a8_group", "attention", "attention_input", "lowrank")


def specialised(program: TileProgram, dims: dict[str, int]) -> TileProgram:
    """With what a call knows of its dims: those that are multiples of 16."""

    def known(kernel: Kernel) -> Kernel:
        more = tuple(
            Requirement(
                Binary("eq", Binary("mod", d, index(16), INDEX), index(0), BOOL),
                f"{d.name} % 16 == 0",
            )
            for d in kernel.dims
            if dims.get(d.name, 1) % 16 == 0
        )
        return replace(kernel, requires=(*kernel.requires, *more))

    return map_kernels(program, known) if isinstance(program, Kernel) else program


def check(program: TileProgram, kernel: str, dims: dict[str, int], seed: int) -> None:
    posed = problem(kernel, dims, {}, seed=seed)
    args = dict(posed.args)
    for param in program.packed:
        args[param.name] = packing.pack(args[param.name], param.storage.to_data())
    interpreter.run(program, args, interpreter.Options(shuffle=seed))
    hold(posed)


@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(4)
def test_every_example_runs_after_the_passes_of_a_gpu(kernel: str) -> None:
    for number, dims in enumerate(TABLE[kernel][3]):
        program = specialised(elaborated(kernel, dims), dims)
        check(run_passes(program, gpu_passes(TARGET)), kernel, dims, number)


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("kernel", PRODUCTS)
def test_products_are_pipelined_with_any_number_of_stages(kernel: str, stages: int) -> None:
    dims = TABLE[kernel][3][0]
    program = specialised(elaborated(kernel, dims), dims)
    program = run_passes(program, gpu_passes(TARGET, stages=stages))
    found = [s for k in kernels(program) for s in walk(k.body)]
    assert any(isinstance(s, ins.CopyAsync) for s in found)
    check(program, kernel, dims, stages)
