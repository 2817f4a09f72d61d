"""Every example compiles for both AMD chips, and no register of it is spilled to memory."""

from __future__ import annotations

import pytest
from calls import TABLE
from dslc.codegen.hip.compilers import compilers
from dslc.codegen.hip.generate import emit
from dslc.codegen.hip.toolchain import compile_hip
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.passes.gpu import gpu_passes
from dslc.compiler.passes.pipeline import run_passes
from dslc.compiler.targets import find_target
from elaboration import elaborated

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None, reason="needs a clang for AMD GPUs: pip install ziglang"
)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("kernel", TABLE)
def test_an_example_compiles_without_spills(kernel: str, chip: str) -> None:
    target = find_target(f"hip:{chip}")
    program = run_passes(elaborated(kernel, TABLE[kernel][3][0]), gpu_passes(target))
    for part in kernels(program):
        text, _ = emit(part, target)
        assert not compile_hip(text, chip).resources[part.name].spills
