"""A kernel of Tile IR on a machine that is emulated here, by all passes of its target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dslc.compiler.artifact import Hashes
from dslc.compiler.ir import TileProgram
from dslc.compiler.passes.pass_manager import run_passes
from dslc.machines.registry import find_machine
from dslc.runtime import packing


def execute(program: TileProgram, target: str, args: Mapping[str, Any]) -> None:
    """Compile and launch it once; arrays of `out` and `inout` parameters are written in place."""
    machine = find_machine(target)
    lowered = run_passes(program, machine.passes({}))
    artifact = machine.compile(lowered, {}, Hashes("", "", "", ""))
    given = dict(args)
    for param in artifact.signature.params:
        if param.packed is not None:
            given[param.name] = packing.pack(given[param.name], param.packed)
    machine.load(artifact, lowered).launch(given, {})
