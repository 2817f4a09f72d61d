"""What dslc asks of a machine: one class a family, all of whose answers stand in its own file here.

    machine = find_machine("cuda:sm_90a")         CudaMachine(SM_90A), of dsl/machines/cuda.py
    machine.passes({}), machine.compile(...), machine.load(...), machine.facts.native

What differs from family to family is a fact or a method; nobody else asks for a family by its name.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias

from dslc.calls.argument_facts import Alignments
from dslc.calls.arguments import Argument, prepare
from dslc.calls.signature import Parameter
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import TileProgram
from dslc.compiler.manifest import signature_of
from dslc.compiler.targets import Target
from dslc.compiler.targets.cpu import Machine as CpuName
from dslc.machines.patience import UNLIMITED, Patience

if TYPE_CHECKING:
    from dslc.codegen.line_marks import Place
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Pass
    from dslc.runtime.memory import Memory
    from dslc.tuner.bench import Bench
    from dslc.tuner.inputs import Inputs

ShortCall = Callable[[Sequence[object], object], bool]
"""Run with these arguments, in the order of the parameters, on a stream (None: the current one).

False where they are not like those that it was made for: nothing has happened then.
"""
Tuning: TypeAlias = Literal["measured", "modelled"]


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """How a machine's code is compiled; it bears on GPUs.

    `line_info` lets profilers show the lines of the emitted text. `fmad` lets the compiler contract
    products and sums into FMAs, which changes results in the last place. On NVIDIA's, `source_lines`
    lets profilers show the lines of the source, and `trap_waits` stops a kernel whose wait never ends.
    """

    line_info: bool = False
    fmad: bool = False
    source_lines: bool = False
    trap_waits: bool = False


PLAIN_CODE = CodeOptions()


class Executable(ABC):
    """A kernel that is ready to run. Where its machine is not here, `stands_in` says how it runs."""

    @property
    def stands_in(self) -> str:
        """`emulated` where the time of a run is that of an emulator, else empty."""
        return ""

    @abstractmethod
    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once over arguments by parameter name; outputs are written in place.

        `dims` are those that the caller stated or gave by codes that are packed by now.
        """

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> ShortCall | None:
        """A short way for calls like one that was launched, with the arguments as they were passed.

        None where there is none, as on machines whose launches are long anyway.
        """
        return None


@dataclass(frozen=True, slots=True)
class CInterface:
    """How kernels of a family are called from C: libraries for `hosts`, such as `x86_64-linux`.

    `backend` is what Hugging Face's `kernels` calls the machine, `word` what its build variants do.
    `image` is the form of machine code that the C text holds; without one it is assembled beside it:
    `machine` says for which CPU a target's code is, `assembled` gives an artifact with its assembly.
    """

    hosts: tuple[str, ...]
    backend: str
    word: Callable[[], str]
    image: str = ""
    machine: Callable[[str], CpuName] | None = None
    assembled: Callable[[Artifact], Artifact] | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is declared of all machines of a family.

    `native` is the form of code that they run, and `extra` the extra of the wheel that brings the
    toolchain. `is_simulated` is where calls run without such a machine, `has_emulator` where they do
    so if `dsl/machines/emulation.py` is asked. Of tensors that are stored as
    rows of packed bytes, those that a kernel reads are packed for it with `packs_read_rows`, and those
    that it writes are bytes with `packs_written_rows`. `choices_seldom_fit` tells that the first
    choices of a kernel are often refused: products of choices are looked through, also for kernels
    that programs call. `chooses_for_calls` tells that kernels which a program calls are chosen for the
    call's sizes, as kernels alone are; elsewhere the first choices are theirs. `unaligned_forms` is
    where a package may have a form for tensors that begin anywhere. Where no target is named, the
    machine with the highest `precedence` that is here is meant; 0 has to be named.
    """

    native: str
    extra: str = ""
    is_simulated: bool = True
    has_emulator: bool = False
    packs_read_rows: bool = True
    packs_written_rows: bool = False
    choices_seldom_fit: bool = False
    chooses_for_calls: bool = False
    unaligned_forms: bool = False
    precedence: int = 0
    tuning: Tuning | None = None
    c_interface: CInterface | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A scheduled program as its generator writes it, before any toolchain: `shared` by kernel."""

    texts: tuple[str, ...] = ()
    shared: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, *artifacts: Artifact) -> Self:
        """The texts of artifacts that no toolchain has seen."""
        return cls(tuple(text.decode() for a in artifacts for text in a.files.values()))


@dataclass(frozen=True, slots=True)
class Inspection:
    """What `dslc inspect` says of a kernel on its machine: labels with texts, then a picture of text.

    `timeline` draws a simulated run as SVG; `seconds_by_line` has what each unit works in it for a line
    of the emitted text, from 1.
    """

    lines: tuple[tuple[str, str], ...] = ()
    picture: str = ""
    timeline: Callable[[], str] | None = None
    seconds_by_line: Mapping[int, Mapping[str, float]] = field(default_factory=dict)


class Machine(ABC):
    """The machine of one target. Those that are not overridden hold where kernels run on the host."""

    facts: ClassVar[Facts]

    def __init__(self, target: Target, code: CodeOptions = PLAIN_CODE) -> None:
        self.target = target
        self._code = code
        self._model = target.chip

    @classmethod
    def of(cls, target: Target, code: CodeOptions) -> Machine:
        """The machine of a target of this family."""
        return cls(target, code)

    @classmethod
    def present_target(cls) -> str | None:
        """What the family's bare name means: the target of the machine that is here.

        None where it means nothing; DSL0840 without the machine, DSL0901 where its kind is not known.
        """
        return None

    @classmethod
    def runs_here(cls, target: str) -> bool:
        """Whether code for a target of this family runs here as fast as it can, neither emulated nor
        simulated. DiagnosticError is no.
        """
        return False

    # From Tile IR to an artifact

    @abstractmethod
    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """In order, with the launch options of `dslc.calls.launch_options`."""

    def draft(self, program: TileProgram) -> Draft:
        """What the generator writes for a program after the passes; DSL05xx where it refuses it."""
        return Draft()

    @abstractmethod
    def lower(self, program: TileProgram) -> Artifact:
        """The artifact of Tile IR after the passes.

        DSL05xx where the machine refuses it, DSL0951 without a compiler that it needs.
        """

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The same for these tune choices, with its signature."""
        return dataclasses.replace(
            self.lower(program),
            target=self.target.name,
            signature=signature_of(program, config),
            hashes=hashes,
        )

    def toolchain(self) -> str:
        """What the artifact depends on beyond dslc's own sources, for the cache key."""
        return ""

    @abstractmethod
    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """The artifact's program to be read, in each of its forms; `final` is one of them."""

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """The artifact's machine code by the name of its form, such as `cubin`."""
        return {}

    # Calls

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """A call's arguments checked and read, by parameter in order: arrays of the host."""
        return prepare(parameters, arguments)

    def alignments(
        self, parameters: Sequence[Parameter], ready: Mapping[str, Argument]
    ) -> Alignments:
        """The prepared tensors for which a kernel of their own is made, with what they begin at."""
        return ()

    def choose(self, artifact: Artifact) -> Artifact:
        """What of an artifact runs here: all of it, or one of the variants that it holds."""
        return artifact

    @abstractmethod
    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Executable:
        """The artifact ready to run; `program` is what it was made of, where that is at hand."""

    def torch_device(self) -> str:
        """What torch calls the devices that the kernels run on."""
        return "CPU"

    def memory(self) -> Memory:
        """The memory in which a session keeps its buffers."""
        from dslc.runtime.memory import memory_of

        return memory_of(self.target.name)

    # What is known of a kernel

    def inspection(
        self,
        made: Specialization,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        """For `dslc inspect`: `program` is the one after the passes, `sizes` are those of all dims.

        What takes longer than the patience lasts is left out, and a line says so.
        """
        return Inspection()

    def placed_code(self, made: Specialization) -> Mapping[str, list[tuple[str, Place | None]]]:
        """Emitted texts by name, each line with that of the source which it is for.

        Places are known of what was compiled with `line_marks`, as `dslc report` does.
        """
        from dslc.codegen.line_marks import unmarked

        return {"emitted": unmarked(made.source("final"))}

    def block_time(self, program: TileProgram, sizes: Mapping[str, int]) -> float:
        """How long a program before the passes takes by the machine's model, in a unit of its own.

        It is asked where a target is `static`. 0 where the model says nothing of such programs;
        DiagnosticError where the machine has no room for it.
        """
        return 0.0

    def bench(self, inputs: Inputs) -> Bench:
        """What times configurations, where `facts.tuning` says how; DSL0840 without the machine."""
        raise error("DSL0920", f"nothing can be tuned for {self.target.name}")

    def present_device(self) -> tuple[str, str] | None:
        """Name and driver of the device here that runs the target's code, whose measurements count."""
        return None
