"""Examples by their FlyDSL source: compiled by the flydsl package, right in the emulator.

All of them: tests/benchmarks/flydsl.py.
"""

from __future__ import annotations

import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.runtime.hip_emulator import compiler
from elaboration import elaborated

from calls import TABLE, hold, problem
from support.hip import flydsl
from support.hip.emulation import execute, lower

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None or compiler() is None,
    reason="needs a linker for AMD GPUs and a C compiler",
)


@pytest.mark.parametrize(
    ("kernel", "chip", "index"),
    [("rmsnorm", "gfx950", 1), ("gemm_quantized", "gfx942", 1)],
)
def test_the_flydsl_source_of_an_example_computes_it(kernel: str, chip: str, index: int) -> None:
    pytest.importorskip("flydsl._mlir")
    dims = TABLE[kernel][3][index]
    posed = problem(kernel, dims, {}, seed=index)
    lowered = lower(elaborated(kernel, dims), chip)
    execute(lowered, chip, posed.args, seed=index + 1, isa_of=flydsl.isa)
    hold(posed)
