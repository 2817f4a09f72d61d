"""Every example means the same after each pass: the interpreter runs it at every stage."""

from __future__ import annotations

import functools

import pytest
from calls import EXAMPLES, TABLE, hold, problem
from dslc.checker import CheckedModule, NeedsDims, check_module
from dslc.compiler import interpreter
from dslc.compiler.ir import TileProgram
from dslc.compiler.passes.pipeline import Stage, run_passes, shared_passes
from dslc.frontend import parse_tile
from dslc.runtime import packing


@functools.cache
def module(file: str) -> CheckedModule:
    path = EXAMPLES / f"{file}.tile"
    return check_module(parse_tile(path.read_text(), str(path)))


def elaborated(kernel: str, dims: dict[str, int]) -> TileProgram:
    file, _, config, _ = TABLE[kernel]
    template = module(file).templates[kernel]
    try:
        return template.elaborate({}, config)
    except NeedsDims as e:
        return template.elaborate({d: dims[d] for d in e.dims}, config)


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("kernel", TABLE)
def test_every_pass_keeps_the_meaning(kernel: str, index: int) -> None:
    dims = TABLE[kernel][3][index]
    stages: list[Stage] = []
    run_passes(elaborated(kernel, dims), shared_passes(), observers=[stages.append])
    for stage in stages:
        posed = problem(kernel, dims, {}, seed=stage.number)
        args = dict(posed.args)
        for param in stage.program.packed:
            args[param.name] = packing.pack(args[param.name], param.storage.to_data())
        interpreter.run(stage.program, args, interpreter.Options(shuffle=stage.number))
        hold(posed)
