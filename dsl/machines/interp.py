"""The interpreter: the machine that every computer has. Its artifact is Tile IR as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dslc.calls.arguments import Argument
from dslc.calls.settings import current_settings
from dslc.compiler.artifact import UNKNOWN, Artifact
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.machines.machine import Executable, Facts, Machine

if TYPE_CHECKING:
    from dslc.compiler.passes.pass_manager import Pass


class Interpreter(Machine):
    """It runs what the passes made, as it stands."""

    FILE = "program.ir"
    facts = Facts(native="ir", packs_read_rows=False)

    @classmethod
    def runs_here(cls, target: str) -> bool:
        """Always."""
        return True

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """Those that keep to Tile IR; it has no use for launch options."""
        from dslc.compiler.passes.pass_lists.interpreter import interpreter_passes

        return interpreter_passes()

    def lower(self, program: TileProgram) -> Artifact:
        """The text with source locations, so that a loaded kernel's errors name the source line."""
        from dslc.compiler.ir.text.printer import print_program

        kernel = program if isinstance(program, Kernel) else None
        return Artifact(
            name=program.name,
            kind="kernel" if kernel else "program",
            target=self.target.name,
            entry=program.name,
            signature=signature_of(program, {}),
            hashes=UNKNOWN,
            grid=grid_of(kernel) if kernel else (),
            workspaces=workspaces_of(kernel) if kernel else (),
            files={self.FILE: print_program(program, locations=True).encode()},
        )

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """The Tile IR without locations."""
        from dslc.compiler.ir.text.printer import print_program

        return {"final": lambda: print_program(self._program(artifact))}

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Executable:
        """DSL0803 where the artifact has no program text, DSL04xx where that is not Tile IR."""
        import dslc.compiler.interpreter  # noqa: F401 - here: the first launch does not wait for it

        return InterpretedProgram(program or self._program(artifact))

    def _program(self, artifact: Artifact) -> TileProgram:
        from dslc.compiler.ir.text.parser import parse_program

        text = artifact.file(self.FILE).decode()
        return parse_program(text, f"{artifact.name}/{self.FILE}")


class InterpretedProgram(Executable):
    """Tile IR on the interpreter, by the options of `dslc.options`."""

    def __init__(self, program: TileProgram) -> None:
        self._program = program

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run every turn of the grid."""
        from dslc.compiler.interpreter import Options, run

        s = current_settings()
        host: Mapping[str, Any] = args  # `prepare` gave arrays of the host alone
        run(self._program, host, Options(s.shuffle, s.check, s.stdout, s.progress, s.trap))


MACHINE = Interpreter
