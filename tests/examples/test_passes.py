"""Every example means the same after each pass: the interpreter runs it at every stage."""

from __future__ import annotations

import pytest
from dslc.compiler import interpreter
from dslc.compiler.passes.pass_lists.interpreter import interpreter_passes
from dslc.compiler.passes.pass_manager import Stage, run_passes
from dslc.runtime import packing
from elaboration import elaborated

from calls import TABLE, hold, problem


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(2)
def test_every_pass_keeps_the_meaning(kernel: str, index: int) -> None:
    dims = TABLE[kernel][3][index]
    stages: list[Stage] = []
    run_passes(elaborated(kernel, dims), interpreter_passes(), observers=[stages.append])
    for stage in stages:
        posed = problem(kernel, dims, {}, seed=stage.number)
        args = dict(posed.args)
        for param in stage.program.packed:
            args[param.name] = packing.pack(args[param.name], param.storage.to_data())
        interpreter.run(stage.program, args, interpreter.Options(shuffle=stage.number))
        hold(posed)
