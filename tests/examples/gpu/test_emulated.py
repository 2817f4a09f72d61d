"""The emitted CUDA of every example, run on the host by its text: right numbers and no fault."""

from __future__ import annotations

import pytest
from dslc.calls.argument_facts import Facts, divisor_facts, with_facts
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.ir import Memory
from dslc.runtime.cuda_emulator import compiler
from elaboration import elaborated

from calls import TABLE, hold, problem
from support.gpu.emulation import TARGET, execute, lower

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(5)
def test_the_text_of_an_example_computes_it(kernel: str, index: int) -> None:
    dims = TABLE[kernel][3][index]
    posed = problem(kernel, dims, {}, seed=index)
    execute(lower(elaborated(kernel, dims)), posed.args, seed=index + 1)
    hold(posed)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(7)
def test_tensors_that_begin_anywhere(kernel: str, most: int) -> None:
    """Known divisors of dims, so that all but the alignment would let rows be read in wide words."""
    dims = TABLE[kernel][3][0]
    posed = problem(kernel, dims, {}, seed=5)
    program = elaborated(kernel, dims)
    tensors = [p for p in program.params if isinstance(p, Memory)]
    alignments = tuple((m.name, max(most, storage_dtype(m.dtype).itemsize)) for m in tensors)
    divisors = divisor_facts(TARGET, [d.name for d in program.dims], dims.get)
    execute(lower(with_facts(program, Facts(divisors, alignments), TARGET)), posed.args, seed=2)
    hold(posed)
