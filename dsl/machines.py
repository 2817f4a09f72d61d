"""The machines that dslc compiles for: how each one builds an artifact and runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dslc.arguments import Argument
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import TileProgram
from dslc.settings import current_settings


class Executable(Protocol):
    """A kernel that is ready to run."""

    def launch(self, args: Mapping[str, Argument]) -> None:
        """Run it once over arguments by parameter name; outputs are written in place."""


class Machine(Protocol):
    """One kind of machine."""

    def toolchain(self) -> str:
        """What the artifact depends on beyond dslc's own sources, for the cache key."""

    def emit(self, program: TileProgram) -> tuple[str, dict[str, bytes]]:
        """The entry and the files of an artifact, from Tile IR after the passes."""

    def text(self, artifact: Artifact) -> str:
        """The artifact's program to be read."""

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Executable:
        """The artifact ready to run; `program` is what it was made of, where that is at hand."""


class Interpreter:
    """The machine that every computer has: its artifact is Tile IR as text."""

    FILE = "program.ir"

    def toolchain(self) -> str:
        """Nothing but dslc."""
        return ""

    def emit(self, program: TileProgram) -> tuple[str, dict[str, bytes]]:
        """The text with source locations, so that a loaded kernel's errors name the source line."""
        from dslc.compiler.ir.printer import print_program

        return program.name, {self.FILE: print_program(program, locations=True).encode()}

    def text(self, artifact: Artifact) -> str:
        """The Tile IR without locations."""
        from dslc.compiler.ir.printer import print_program

        return print_program(self._program(artifact))

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Executable:
        """DSL0803 where the artifact has no program text, DSL04xx where that is not Tile IR."""
        import dslc.compiler.interpreter  # noqa: F401 - here: the first launch does not wait for it

        return InterpretedProgram(program or self._program(artifact))

    def _program(self, artifact: Artifact) -> TileProgram:
        from dslc.compiler.ir.parser import parse_program

        if self.FILE not in artifact.files:
            raise error("DSL0803", f"the artifact {artifact.name} has no file {self.FILE}")
        text = artifact.files[self.FILE].decode()
        return parse_program(text, f"{artifact.name}/{self.FILE}")


class InterpretedProgram:
    """Tile IR on the interpreter, by the options of `dslc.options`."""

    def __init__(self, program: TileProgram) -> None:
        self._program = program

    def launch(self, args: Mapping[str, Argument]) -> None:
        """Run every turn of the grid."""
        from dslc.compiler.interpreter import Options, run

        s = current_settings()
        run(self._program, args, Options(s.shuffle, s.check, s.stdout, s.progress))


def find_machine(target: str) -> Machine:
    """The machine of a target.

    DSL09xx for an unknown target, DSL0950 for a target that this version cannot generate code for.
    """
    if target == "interp":
        return Interpreter()
    from dslc.compiler.targets import find_target

    name = find_target(target).name
    raise error(
        "DSL0950",
        f"there is no code generator for the target {name} here",
        hint="--target interp runs every kernel",
    )
