"""The emitted CUDA of every example, run on the host by its text: right numbers and no fault."""

from __future__ import annotations

import pytest
from calls import TABLE, hold, problem
from dslc.runtime.cuda_emulator import compiler
from elaboration import elaborated

from support.emulation import execute, lower

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("kernel", TABLE)
def test_the_text_of_an_example_computes_it(kernel: str, index: int) -> None:
    dims = TABLE[kernel][3][index]
    posed = problem(kernel, dims, {}, seed=index)
    execute(lower(elaborated(kernel, dims)), posed.args, seed=index + 1)
    hold(posed)
