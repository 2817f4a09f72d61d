"""CPUs through LLVM: kernels compiled in process, linked to libraries, run here."""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dslc.calls.arguments import Argument
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import TileProgram
from dslc.compiler.targets import Target, find_target
from dslc.compiler.targets.cpu import SETS, processor_by_name
from dslc.machines.cpu_processors import find_processor, present_target
from dslc.machines.cpu_variants import Libraries, ManyVariants, OneVariant
from dslc.machines.machine import (
    PLAIN_CODE,
    CInterface,
    CodeOptions,
    Executable,
    Facts,
    Inspection,
    Machine,
    ShortCall,
)
from dslc.machines.patience import UNLIMITED, Patience
from dslc.runtime.native import NativeKernel, Processor, host_features, host_machine
from dslc.runtime.native.loading import system_library
from dslc.runtime.native.pool import thread_count
from dslc.runtime.native.variants import chosen_variant

if TYPE_CHECKING:
    from dslc.codegen.cpu.tools.library import System
    from dslc.codegen.line_marks import Place
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Pass
    from dslc.tuner.host import HostBench
    from dslc.tuner.inputs import Inputs

_SYSTEM: System = "macos" if sys.platform == "darwin" else "linux"
_ATTEMPTS = 16
_SYSTEMS: Mapping[str, System] = {"so": "linux", "dylib": "macos"}


def _assembled(artifact: Artifact) -> Artifact:
    from dslc.codegen.cpu.tools.library import with_assembly

    return with_assembly(artifact)


class CpuMachine(Machine):
    """CPUs of one kind; to compile, none of them is needed."""

    facts = Facts(
        native="so",
        is_simulated=False,
        packs_written_rows=True,
        chooses_for_calls=True,
        precedence=1,
        tuning="measured",
        c_interface=CInterface(
            ("x86_64-linux", "aarch64-linux"),
            "cpu",
            lambda: "cpu",
            machine=lambda target: processor_by_name(target).machine,
            assembled=_assembled,
        ),
    )

    @classmethod
    def of(cls, target: Target, code: CodeOptions) -> Machine:
        """The machine of a kind of CPU, or of a set of kinds."""
        return SetMachine(target, code) if target.name in SETS else KindMachine(target, code)

    @classmethod
    def present_target(cls) -> str:
        """The kind of the CPU that is here; DSL0901 where there is no target for it."""
        return present_target()

    @classmethod
    def runs_here(cls, target: str) -> bool:
        """Whether this CPU has all that the code needs; of a set, that of its first kind."""
        cpu = processor_by_name(target)
        return cpu.machine == host_machine() and cpu.features <= host_features()

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """Those of a CPU."""
        from dslc.compiler.passes.pass_lists.cpu import cpu_passes

        return cpu_passes()

    def toolchain(self) -> str:
        """The version of LLVM's package. It is not loaded: what is in the cache runs without it."""
        return _llvm_version()

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """LLVM's text (`ll`), assembly (`asm`, and `final`), the library's C header (`header`)."""

        def text() -> str:
            from dslc.codegen.cpu.tools.library import texts_of

            return "\n".join(t.text for t in texts_of(artifact))

        def assembly() -> str:
            from dslc.codegen.cpu.tools.library import assembly_of

            return "\n".join(assembly_of(artifact).values())

        def header() -> str:
            from dslc.codegen.c_interface.kernel_header import c_header

            return c_header(artifact)

        return {"ll": text, "asm": assembly, "header": header, "final": assembly}

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """Libraries for Linux (`so`, static `a`) and macOS (`dylib`), made when they are asked for."""
        from dslc.codegen.cpu.tools.library import archive_of, library_of

        shared = {form: partial(library_of, system=system) for form, system in _SYSTEMS.items()}
        return Libraries(artifact, {**shared, "a": archive_of})

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> CpuExecutable:
        """DSL0802 where the artifact's launch cannot be read. The CPU is asked at the first launch."""
        return CpuExecutable(artifact)

    def choose(self, artifact: Artifact) -> Artifact:
        """The variant of an artifact that runs here, with the library of all."""
        return chosen_variant(artifact, find_processor(artifact))

    def inspection(
        self,
        made: Specialization,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        """The library, what its code needs, and its hottest loop."""
        from dslc.cli.tables.cpu import cpu_lines, hottest_loop

        return Inspection(tuple(cpu_lines(made)), hottest_loop(made.source("asm")))

    def placed_code(self, made: Specialization) -> Mapping[str, list[tuple[str, Place | None]]]:
        """Assembly."""
        from dslc.codegen.line_marks import unmarked_assembly

        return {"machine code": unmarked_assembly(made.source("asm"))}

    def bench(self, inputs: Inputs) -> HostBench:
        """This CPU; DSL0840 where it does not run the target's code."""
        from dslc.tuner.host import HostBench

        if not self.runs_here(self.target.name):
            raise error("DSL0840", f"this CPU does not run code for {self.target.name}")
        return HostBench(inputs)

    def present_device(self) -> tuple[str, str] | None:
        """This CPU's kind and its threads, if it runs the target's code."""
        if not self.runs_here(self.target.name):
            return None
        return present_target(), f"{thread_count()} threads"


class KindMachine(OneVariant, CpuMachine):
    """CPUs of one kind."""

    def lower(self, program: TileProgram) -> Artifact:
        """LLVM's text. DSL0590 for what cannot be said."""
        return _lowered(program, self.target)

    def with_library(self, artifact: Artifact) -> Artifact:
        """With the library. DSL0951 without LLVM."""
        from dslc.codegen.cpu.tools.library import with_library

        return with_library(artifact, _SYSTEM)


class SetMachine(ManyVariants, CpuMachine):
    """Several kinds in one library: the best that the CPU runs is chosen when a kernel is loaded."""

    def __init__(self, target: Target, code: CodeOptions = PLAIN_CODE) -> None:
        super().__init__(target, code)
        self.variants = tuple(KindMachine(find_target(n), code) for n in SETS[target.name])

    def joined(self, artifacts: Sequence[Artifact]) -> Artifact:
        """With the library of all kinds."""
        from dslc.codegen.cpu.tools.library import join

        return join(artifacts, _SYSTEM)


class CpuExecutable(Executable):
    """A kernel on this CPU, or where it is for an Arm one elsewhere, on an emulated CPU."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self._without_short_way = 0
        self._kernel: NativeKernel | None = None
        self._processor: Processor | None = None

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it. DSL0860 where the CPU has not the instructions, DSL0862 on other systems."""
        self.kernel.launch(args, dims)

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> ShortCall | None:
        """The short way of NumPy's arrays; where calls have none, it is looked for a few times."""
        if self._without_short_way >= _ATTEMPTS:
            return None
        call = self.kernel.short_call(arguments, dims)
        self._without_short_way += call is None
        return call

    @property
    def kernel(self) -> NativeKernel:
        """The kernel as it is loaded."""
        processor = find_processor(self._artifact)
        if self._kernel is None or processor is not self._processor:
            self._kernel = NativeKernel(self._artifact, processor, system_library())
            self._processor = processor
        return self._kernel


@functools.lru_cache(16)  # choices are looked at by their texts before one is compiled
def _lowered(program: TileProgram, target: Target) -> Artifact:
    from dslc.codegen.cpu.lowering import lower

    return lower(program, target)


@functools.cache
def _llvm_version() -> str:
    try:
        return f"llvmlite {importlib.metadata.version('llvmlite')}"
    except importlib.metadata.PackageNotFoundError:
        return "no llvmlite"


MACHINE = CpuMachine
