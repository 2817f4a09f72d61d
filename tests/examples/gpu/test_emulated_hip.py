"""Every example on both AMD chips by its ISA text: right numbers, no fault, no spilled register."""

from __future__ import annotations

import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.codegen.hip.resources import parse_resources
from dslc.codegen.quoting import entry_name
from dslc.compiler.ir.rewrite import kernels
from dslc.runtime.hip_emulator import compiler
from elaboration import elaborated

from calls import TABLE, hold, problem
from support.hip.emulation import execute, isa, lower

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None or compiler() is None,
    reason="needs a clang for AMD GPUs and a C compiler",
)


@pytest.mark.parametrize(("chip", "index"), [("gfx942", 1), ("gfx950", 0)])
@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(6)
def test_the_isa_of_an_example_computes_it(kernel: str, chip: str, index: int) -> None:
    dims = TABLE[kernel][3][index]
    posed = problem(kernel, dims, {}, seed=index)
    lowered = lower(elaborated(kernel, dims), chip)
    execute(lowered, chip, posed.args, seed=index + 1)
    hold(posed)
    for part in kernels(lowered):
        assert not parse_resources(isa(part, chip))[entry_name(part.name)].spills
