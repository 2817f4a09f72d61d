"""Tile IR for a NeuronCore: the emitted source, and one run of it in the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from dslc.codegen.nki.generate import Entry, emit
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.passes.pass_lists.trainium import nki_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.runtime.nki_simulator import Run, simulate

Arrays = Mapping[str, Any]


def lower(program: TileProgram | str, target: str = "nki:trn2") -> TileProgram:
    """After all passes of a NeuronCore."""
    parsed = parse_program(program) if isinstance(program, str) else program
    return run_passes(parsed, nki_passes(find_target(target)))


def source(program: TileProgram | str, target: str = "nki:trn2") -> tuple[str, Entry]:
    """The emitted file and its entry."""
    return emit(lower(program, target), find_target(target))


def execute(program: TileProgram | str, args: Arrays, target: str = "nki:trn2") -> Run | None:
    """Run the emitted source; arrays of `out` and `inout` parameters are written in place."""
    text, entry = source(program, target)
    if not entry.results:
        return None
    given = [args[name] for _, name in entry.arguments]
    plain = [a.view(np.uint8) if getattr(a, "dtype", None) == np.bool_ else a for a in given]
    found = simulate(text, entry.name, plain, target)
    for name, array in zip(entry.results, found.outputs, strict=True):
        args[name][...] = array.view(args[name].dtype) if args[name].dtype == np.bool_ else array
    return found


def interpret(program: TileProgram | str, args: Arrays) -> None:
    """The same by the interpreter, from the program before any pass."""
    parsed = parse_program(program) if isinstance(program, str) else program
    run(parsed, dict(args), Options())


def both(program: str, args: Arrays, target: str = "nki:trn2") -> tuple[Arrays, Arrays]:
    """What the interpreter makes of the arguments, and what the machine does."""
    wanted = {n: np.array(a) if isinstance(a, np.ndarray) else a for n, a in args.items()}
    got = {n: np.array(a) if isinstance(a, np.ndarray) else a for n, a in args.items()}
    interpret(program, wanted)
    execute(program, got, target)
    return wanted, got
