"""Arm CPUs: kernels generated as assembly, linked to libraries, run here or in an emulator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dslc.calls.arguments import Argument
from dslc.compiler.artifact import Artifact
from dslc.compiler.ir import TileProgram
from dslc.compiler.targets import TARGETS, Target
from dslc.compiler.targets.aarch64 import ALL
from dslc.machines.aarch64_processors import find_processor, is_emulated, present_target
from dslc.machines.cpu_variants import Libraries, ManyVariants, OneVariant
from dslc.machines.machine import (
    PLAIN_CODE,
    CInterface,
    CodeOptions,
    Executable,
    Facts,
    Inspection,
    Machine,
)
from dslc.machines.patience import UNLIMITED, Patience
from dslc.runtime.aarch64 import is_host
from dslc.runtime.native import NativeKernel, Processor
from dslc.runtime.native.loading import LIBRARY, LIBRARY_MACOS
from dslc.runtime.native.variants import chosen_variant

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.passes.pass_manager import Pass

_MACOS = sys.platform == "darwin"


class ArmMachine(Machine):
    """What the machines of this family have in common: their tools, texts and passes."""

    facts = Facts(
        native="so",
        extra="aarch64",
        packs_written_rows=True,
        c_interface=CInterface(
            ("aarch64-linux",), "cpu", lambda: "cpu", machine=lambda _: "aarch64"
        ),
    )

    @classmethod
    def of(cls, target: Target, code: CodeOptions) -> Machine:
        """The machine of a variant, or of all of them."""
        return AllVariants(target) if target == ALL else VariantMachine(target)

    @classmethod
    def present_target(cls) -> str:
        """The target of the CPU that is there; elsewhere the largest of all, which is emulated."""
        return present_target()

    @classmethod
    def runs_here(cls, target: str) -> bool:
        """Whether the CPU that is there has the variant, or the best of all is taken of it."""
        return is_host() and target in (present_target(), ALL.name)

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        """Those of a CPU."""
        from dslc.compiler.passes.pass_lists.cpu import aarch64_passes

        return aarch64_passes()

    def toolchain(self) -> str:
        """The assembler and linker."""
        from dslc.codegen.aarch64.tools.toolchain import toolchain_identity

        return toolchain_identity("dylib" if _MACOS else "library")

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """Assembly (`asm`, and `final`) and the C header of the library (`header`)."""

        def assembly() -> str:
            from dslc.codegen.aarch64.tools.library import sources_of

            return "\n".join(text.decode() for text in sources_of(artifact).values())

        def header() -> str:
            from dslc.codegen.c_interface.kernel_header import c_header

            return c_header(artifact)

        return {"asm": assembly, "header": header, "final": assembly}

    def inspection(
        self,
        made: Specialization,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        """The library, and the speed of its products."""
        from dslc.cli.tables.aarch64 import arm_lines

        return Inspection(tuple(arm_lines(made, patience)))

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """The library for Linux (`so`), and for macOS (`dylib`); the other is linked when asked for."""
        from dslc.codegen.aarch64.tools.library import library_of

        make = {form: partial(library_of, macos=form == "dylib") for form in ("so", "dylib")}
        return Libraries(artifact, make)

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Aarch64Executable:
        """The CPU is asked at the first launch: DSL0860 where it runs no variant.

        DSL0802 where the artifact's launch cannot be read.
        """
        return Aarch64Executable(lambda: self.choose(artifact), self._model)


class VariantMachine(OneVariant, ArmMachine):
    """CPUs with the features of one target; to compile, none of them is needed."""

    def lower(self, program: TileProgram) -> Artifact:
        """The assembly. DSL0590 for what cannot be said."""
        from dslc.codegen.aarch64.lowering import lower

        return lower(program, self.target)

    def with_library(self, artifact: Artifact) -> Artifact:
        """With the library. DSL0951 without an assembler."""
        from dslc.codegen.aarch64.tools.library import with_library

        return with_library(artifact, macos=_MACOS)


class AllVariants(ManyVariants, ArmMachine):
    """Every variant in one library: the best that the CPU runs is chosen when a kernel is loaded."""

    def __init__(self, target: Target, code: CodeOptions = PLAIN_CODE) -> None:
        super().__init__(target, code)
        others = (t for t in TARGETS.values() if t.family == target.family and t != target)
        self.variants = tuple(map(VariantMachine, others))

    def joined(self, artifacts: Sequence[Artifact]) -> Artifact:
        """With the library of all variants."""
        from dslc.codegen.aarch64.tools.library import join

        return join(artifacts, macos=_MACOS)

    def choose(self, artifact: Artifact) -> Artifact:
        """The variant of an artifact that runs here, with the library of all."""
        return chosen_variant(artifact, find_processor(self._model))


class Aarch64Executable(Executable):
    """A kernel on this CPU, or elsewhere on an emulated one with the target's features."""

    def __init__(self, artifact: Callable[[], Artifact], variant: str) -> None:
        self._artifact, self._model = artifact, variant
        self._kernel: NativeKernel | None = None
        self._processor: Processor | None = None

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it. DSL0860 where the CPU has not the instructions, DSL0861 where emulation fails."""
        self.kernel.launch(args, dims)

    @property
    def stands_in(self) -> str:
        """By QEMU where this is no such CPU."""
        return "emulated" if is_emulated() else ""

    @property
    def kernel(self) -> NativeKernel:
        """The kernel as it is loaded."""
        processor = find_processor(self._model)
        if self._kernel is None or processor is not self._processor:
            file = LIBRARY_MACOS if _MACOS else LIBRARY
            self._kernel = NativeKernel(self._artifact(), processor, file)
            self._processor = processor
        return self._kernel


MACHINE = ArmMachine
