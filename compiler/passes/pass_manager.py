"""Passes in a row: the verifier between them, and observers that print or dump.

program = run_passes(program, gpu_passes(target), observers=[print_after({"bounds"}, sys.stdout)])

A pass is a class in the room of its purpose, beside this file. Which machines run it, and when, their
lists in `pass_lists` say; `dslc passes` prints them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO, TypeAlias

from dslc.compiler.ir.program import TileProgram
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify

INPUT = "input"  # the stage before the first pass


class Pass(Protocol):
    """A step of the compiler: a program in, a program of the same meaning out."""

    @property
    def name(self) -> str:
        """The word by which `--print-after` knows it."""
        ...

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program after the pass. DSL05xx where the pass cannot do what was asked."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """The program after a pass, as observers see it; number 0 is the input."""

    number: int
    name: str
    program: TileProgram
    seconds: float


Observer: TypeAlias = Callable[[Stage], None]


def run_passes(
    program: TileProgram, passes: Iterable[Pass], *, observers: Iterable[Observer] = ()
) -> TileProgram:
    """The program after the passes, verified before the first and after each that changes it.

    DSL04xx names a rule of Tile IR that the input or a pass broke, DSL05xx what a pass refuses.
    """
    watching = tuple(observers)
    verify(program)
    stage = Stage(0, INPUT, program, 0.0)
    for observe in watching:
        observe(stage)
    for number, step in enumerate(passes, start=1):
        began = time.perf_counter()
        before, program = program, step(program)
        stage = Stage(number, step.name, program, time.perf_counter() - began)
        if program is not before:  # frozen, and verified as it stands
            verify(program)
        for observe in watching:
            observe(stage)
    return program


def schedule(program: TileProgram, passes: Iterable[Pass]) -> TileProgram:
    """`run_passes` without verifying: for programs that are looked at and not kept."""
    for step in passes:
        program = step(program)
    return program


def print_after(names: Collection[str], stream: TextIO) -> Observer:
    """Print the text form after each pass of these names; `all` names every one."""

    def observe(stage: Stage) -> None:
        if stage.name in names or "all" in names:
            stream.write(f"# after {stage.number:02}-{stage.name}\n")
            stream.write(print_program(stage.program))
            stream.write("\n")

    return observe


def remember(stages: dict[str, list[Stage]]) -> Observer:
    """Keep what each program was after every pass of its last run, by the program's name."""

    def observe(stage: Stage) -> None:
        if stage.number == 0:
            stages[stage.program.name] = []
        stages[stage.program.name].append(stage)

    return observe


def dump_to(folder: Path) -> Observer:
    """Write `00-input.tir`, `01-simplify.tir`, ... into a folder, which is made."""

    def observe(stage: Stage) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{stage.number:02}-{stage.name}.tir"
        path.write_text(print_program(stage.program), encoding="utf-8")

    return observe
