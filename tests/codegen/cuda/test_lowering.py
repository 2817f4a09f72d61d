"""Lowering asks the assembler again where it spilled registers while there were more."""

from __future__ import annotations

import pytest
from dslc.codegen.cuda import lowering
from dslc.codegen.cuda.tools.resources import Resources
from dslc.codegen.cuda.tools.toolchain import Binary, Options
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.kernels import one

TARGET = find_target("cuda:sm_80")
ALONE = "__launch_bounds__(128, 1)"


def scheduled() -> Kernel:
    kernel = one("kernel k(x: f32[N], y: out f32[N]):\n    y[0:1024] = x[0:1024]\n")
    made = run_passes(kernel, gpu_passes(TARGET, warps=4))
    assert isinstance(made, Kernel)
    return made


@pytest.mark.parametrize(
    ("left_alone", "told_one", "kept"),
    [
        (Resources(168, stack=8, spill_stores=4), Resources(174), True),
        (Resources(168), Resources(174), False),
        (Resources(255, stack=8, spill_stores=4), Resources(255), False),
        (Resources(168, stack=8), Resources(255, stack=400, spill_stores=400), False),
    ],
    ids=["spills-for-occupancy", "no-spills", "all-registers", "spills-anyway"],
)
def test_one_block_is_enough_where_that_keeps_registers_out_of_memory(
    monkeypatch: pytest.MonkeyPatch, left_alone: Resources, told_one: Resources, kept: bool
) -> None:
    def compile_cubin(text: str, architecture: str, options: Options, name: str) -> Binary:
        return Binary(architecture, b"", {"k_kernel": told_one if ALONE in text else left_alone})

    monkeypatch.setattr(lowering, "compile_cubin", compile_cubin)
    made = lowering.lower(scheduled(), TARGET)
    assert (ALONE in made.files["kernel.cu"].decode()) == kept
    used = told_one if kept else left_alone
    assert made.launch["resources"] == used.to_data()
