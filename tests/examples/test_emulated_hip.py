"""Every example's ISA text for both AMD chips, run in the emulator: right numbers and no fault."""

from __future__ import annotations

import pytest
from calls import TABLE, hold, problem
from dslc.codegen.hip.compilers import compilers
from dslc.runtime.hip_emulator import compiler
from elaboration import elaborated

from support.hip_emulation import execute, lower

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None or compiler() is None,
    reason="needs a clang for AMD GPUs and a C compiler",
)


@pytest.mark.parametrize(("chip", "index"), [("gfx942", 1), ("gfx950", 0)])
@pytest.mark.parametrize("kernel", TABLE)
def test_the_isa_of_an_example_computes_it(kernel: str, chip: str, index: int) -> None:
    dims = TABLE[kernel][3][index]
    posed = problem(kernel, dims, {}, seed=index)
    execute(lower(elaborated(kernel, dims), chip), chip, posed.args, seed=index + 1)
    hold(posed)
