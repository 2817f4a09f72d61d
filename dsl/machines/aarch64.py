"""Arm CPUs: kernels generated as assembly, linked to libraries, run here or in an emulator."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from dslc.calls.arguments import Argument
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.ir import TileProgram
from dslc.compiler.manifest import signature_of
from dslc.compiler.targets import TARGETS, Target
from dslc.compiler.targets.aarch64 import ALL
from dslc.machines.aarch64_processors import find_processor, present_target
from dslc.machines.machine import (
    PLAIN_CODE,
    CInterface,
    CodeOptions,
    Draft,
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

_FORMS = {"so": LIBRARY, "dylib": LIBRARY_MACOS}
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
        return _Libraries(artifact)


class _Libraries(Mapping[str, bytes]):
    """The libraries of an artifact by form; what it has not is linked when it is asked for."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact

    def __getitem__(self, form: str) -> bytes:
        from dslc.codegen.aarch64.tools.library import library_of

        name = _FORMS[form]
        stored = self._artifact.files.get(name)
        return library_of(self._artifact, macos=form == "dylib") if stored is None else stored

    def __iter__(self) -> Iterator[str]:
        return iter(_FORMS)

    def __len__(self) -> int:
        return len(_FORMS)


class VariantMachine(ArmMachine):
    """CPUs with the features of one target; to compile, none of them is needed."""

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """Assembly and the library. DSL0951 without an assembler, DSL0590 for what cannot be said."""
        from dslc.codegen.aarch64.tools.library import with_library

        return with_library(self.lowered(program, config, hashes), macos=_MACOS)

    def draft(self, program: TileProgram) -> Draft:
        """The assembly."""
        from dslc.codegen.aarch64.lowering import lower

        return Draft.of(lower(program, self.target))

    def lowered(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The artifact before its library is made."""
        from dslc.codegen.aarch64.lowering import lower

        signature = signature_of(program, config)
        artifact = lower(program, self.target)
        return dataclasses.replace(
            artifact, target=self.target.name, signature=signature, hashes=hashes
        )

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Aarch64Executable:
        """DSL0802 where the artifact's launch cannot be read. The CPU is asked at the first launch."""
        return Aarch64Executable(lambda: artifact, self._model)


class AllVariants(ArmMachine):
    """Every variant in one library: the best that the CPU runs is chosen when a kernel is loaded."""

    def __init__(self, target: Target, code: CodeOptions = PLAIN_CODE) -> None:
        super().__init__(target, code)
        others = (t for t in TARGETS.values() if t.family == target.family and t != target)
        self._machines = tuple(map(VariantMachine, others))

    def draft(self, program: TileProgram) -> Draft:
        """The assembly of every variant."""
        return Draft(tuple(text for m in self._machines for text in m.draft(program).texts))

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The library of all variants of one scheduled program; the errors are those of each.

        So what is packed for one of them is packed for all.
        """
        from dslc.codegen.aarch64.tools.library import join

        variants = [m.lowered(program, config, hashes) for m in self._machines]
        return dataclasses.replace(join(variants, macos=_MACOS), target=self.target.name)

    def choose(self, artifact: Artifact) -> Artifact:
        """The variant of an artifact that runs here, with the library of all."""
        return chosen_variant(artifact, find_processor(self._model))

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Aarch64Executable:
        """DSL0860 at the first launch where the CPU runs no variant."""
        return Aarch64Executable(lambda: self.choose(artifact), self._model)


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
    def kernel(self) -> NativeKernel:
        """The kernel as it is loaded."""
        processor = find_processor(self._model)
        if self._kernel is None or processor is not self._processor:
            file = LIBRARY_MACOS if _MACOS else LIBRARY
            self._kernel = NativeKernel(self._artifact(), processor, file)
            self._processor = processor
        return self._kernel


MACHINE = ArmMachine
