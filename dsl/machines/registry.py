"""The machines that dslc compiles for: how each one builds an artifact and runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from dslc.calls.argument_facts import Alignments
from dslc.calls.arguments import Argument, prepare
from dslc.calls.settings import current_settings
from dslc.calls.signature import Parameter
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import INTERP, Target, find_target

ShortCall = Callable[[Sequence[object], object], bool]
"""Run with these arguments, in the order of the parameters, on a stream (None: the current one).

False where they are not like those that it was made for: nothing has happened then.
"""


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """How a machine's code is compiled; it bears on GPUs.

    `line_info` lets profilers show the lines of the emitted text. `fmad` lets the compiler contract
    products and sums into FMAs, which changes results in the last place.
    """

    line_info: bool = False
    fmad: bool = False


PLAIN_CODE = CodeOptions()


class Executable(Protocol):
    """A kernel that is ready to run."""

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once over arguments by parameter name; outputs are written in place.

        `dims` are those that the caller stated or gave by codes that are packed by now.
        """

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> ShortCall | None:
        """A short way for calls like one that was launched, with the arguments as they were passed."""


class Machine(Protocol):
    """One kind of machine."""

    target: Target

    def toolchain(self) -> str:
        """What the artifact depends on beyond dslc's own sources, for the cache key."""

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The artifact of Tile IR after the passes, for these tune choices."""

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """The artifact's program to be read, in each of its forms; `final` is one of them."""

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """The artifact's machine code by the name of its form, such as `cubin`."""

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """A call's arguments checked and read, by parameter in order."""

    def alignments(
        self, parameters: Sequence[Parameter], ready: Mapping[str, Argument]
    ) -> Alignments:
        """The prepared tensors for which a kernel of their own is made, with what they begin at."""

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Executable:
        """The artifact ready to run; `program` is what it was made of, where that is at hand."""


@runtime_checkable
class Chooser(Protocol):
    """A machine whose artifacts hold code for several CPUs."""

    def choose(self, artifact: Artifact) -> Artifact:
        """The artifact of the best code that runs here."""


def chosen_artifact(machine: Machine, artifact: Artifact) -> Artifact:
    """What of an artifact runs here: all of it, or one of the variants that it holds."""
    return machine.choose(artifact) if isinstance(machine, Chooser) else artifact


class HostArguments:
    """What machines have in common whose kernels take arrays of the host, wherever these begin."""

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """Arrays of the host, without a copy."""
        return prepare(parameters, arguments)

    def alignments(
        self, parameters: Sequence[Parameter], ready: Mapping[str, Argument]
    ) -> Alignments:
        """None: there is one kernel for all."""
        return ()


class SourceOnly(HostArguments):
    """What machines have in common whose artifact is text that dslc itself runs."""

    def toolchain(self) -> str:
        """Nothing but dslc."""
        return ""

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """None: the machine's own tools make them, where they are installed."""
        return {}


class OneWay:
    """An executable that has no short way for calls like an earlier one."""

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> ShortCall | None:
        """None: the way is long whatever the arguments."""
        return None


class Interpreter(SourceOnly):
    """The machine that every computer has: its artifact is Tile IR as text."""

    FILE = "program.ir"
    target = INTERP

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The text with source locations, so that a loaded kernel's errors name the source line."""
        from dslc.compiler.ir.text.printer import print_program

        kernel = program if isinstance(program, Kernel) else None
        return Artifact(
            name=program.name,
            kind="kernel" if kernel else "program",
            target=self.target.name,
            entry=program.name,
            signature=signature_of(program, config),
            hashes=hashes,
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


class InterpretedProgram(OneWay):
    """Tile IR on the interpreter, by the options of `dslc.options`."""

    def __init__(self, program: TileProgram) -> None:
        self._program = program

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run every turn of the grid."""
        from dslc.compiler.interpreter import Options, run

        s = current_settings()
        host: Mapping[str, Any] = args  # `prepare` gave arrays of the host alone
        run(self._program, host, Options(s.shuffle, s.check, s.stdout, s.progress))


def resolve_target(name: str) -> str:
    """The full name of a target: of `cuda`, that of the GPU that is there, of `aarch64` of the CPU.

    DSL0840 where there is no GPU, DSL0901 where its kind is not known.
    """
    if name == "cuda":
        from dslc.machines.cuda import present_target as present_gpu

        return present_gpu()
    if name == "aarch64":
        from dslc.machines.aarch64_processors import present_target as present_cpu

        return present_cpu()
    return name


def find_machine(target: str, code: CodeOptions = PLAIN_CODE) -> Machine:
    """The machine of a target.

    DSL09xx for an unknown target, DSL0950 for a target that this version cannot generate code for.
    """
    found = find_target(resolve_target(target))
    if found.family == "interp":
        return Interpreter()
    if found.family == "cuda":
        from dslc.machines.cuda import CudaMachine

        return CudaMachine(found, code)
    if found.family == "hip":
        from dslc.machines.hip import HipMachine

        return HipMachine(found, code)
    if found.family == "nki":
        from dslc.machines.nki import NkiMachine

        return NkiMachine(found)
    if found.family == "aie":
        from dslc.machines.aie import AieMachine

        return AieMachine(found)
    if found.family == "aarch64":
        from dslc.machines.aarch64 import machine_of

        return machine_of(found)
    raise error(
        "DSL0950",
        f"there is no code generator for the target {found.name} here",
        hint="--target interp runs every kernel",
    )
