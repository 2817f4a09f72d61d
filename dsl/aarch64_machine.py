"""Arm CPUs: kernels generated as assembly, linked to libraries, run here or in an emulator."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files

from dslc.arguments import Argument, prepare
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import TileProgram
from dslc.compiler.manifest import signature_of
from dslc.compiler.targets import TARGETS, Target
from dslc.facts import Alignments
from dslc.machines import ShortCall
from dslc.runtime.aarch64 import (
    FEATURES,
    Aarch64Kernel,
    HostProcessor,
    Processor,
    best_variant,
    is_host,
)
from dslc.runtime.aarch64.emulated import EmulatedProcessor
from dslc.runtime.aarch64.kernel import LIBRARY, LIBRARY_MACOS
from dslc.signature import Parameter

# What QEMU emulates for a target: of several, the CPU that has no more than the target says.
_CPUS = {"base": "cortex-a57", "dotprod": "neoverse-n1"}
_LARGEST = "max"

_MACOS = sys.platform == "darwin"


class Aarch64Machine:
    """CPUs with the features of a target; to compile, none of them is needed."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._variant = target.name.partition(":")[2]

    def toolchain(self) -> str:
        """The assembler and linker."""
        from dslc.codegen.aarch64.toolchain import toolchain_identity

        return toolchain_identity("dylib" if _MACOS else "library")

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """Assembly and the library. DSL0951 without an assembler, DSL0590 for what cannot be said."""
        from dslc.codegen.aarch64.library import with_library
        from dslc.codegen.aarch64.lowering import lower

        made = with_library(lower(program, self.target), macos=_MACOS)
        signature = signature_of(program, config)
        return dataclasses.replace(
            made, target=self.target.name, signature=signature, hashes=hashes
        )

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """Assembly (`asm`, and `final`) and the C header of the library (`header`)."""

        def assembly() -> str:
            from dslc.codegen.aarch64.library import sources_of

            return "\n".join(text.decode() for text in sources_of(artifact).values())

        def header() -> str:
            from dslc.codegen.aarch64.header import c_header

            return c_header(artifact)

        return {"asm": assembly, "header": header, "final": assembly}

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """The library as `so` or, where this is macOS, `dylib`."""
        found = {"so": artifact.files.get(LIBRARY), "dylib": artifact.files.get(LIBRARY_MACOS)}
        return {form: content for form, content in found.items() if content is not None}

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """Arrays of the host, without a copy."""
        return prepare(parameters, arguments)

    def alignments(
        self, parameters: Sequence[Parameter], ready: Mapping[str, Argument]
    ) -> Alignments:
        """None: kernels take any address."""
        return ()

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> Aarch64Executable:
        """DSL0802 where the artifact's launch cannot be read. The CPU is asked at the first launch."""
        return Aarch64Executable(artifact, self._variant)


class Aarch64Executable:
    """A kernel on this CPU, or elsewhere on an emulated one with the target's features."""

    def __init__(self, artifact: Artifact, variant: str) -> None:
        self._artifact, self._variant = artifact, variant
        self._kernel: Aarch64Kernel | None = None
        self._processor: Processor | None = None

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it. DSL0860 where the CPU has not the instructions, DSL0861 where emulation fails."""
        self.kernel.launch(args, dims)

    @property
    def kernel(self) -> Aarch64Kernel:
        """The kernel as it is loaded."""
        processor = find_processor(self._variant)
        if self._kernel is None or processor is not self._processor:
            file = LIBRARY_MACOS if _MACOS else LIBRARY
            self._kernel = Aarch64Kernel(self._artifact, processor, file)
            self._processor = processor
        return self._kernel

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> ShortCall | None:
        """None: there is one way."""
        return None


def find_processor(variant: str) -> Processor:
    """What runs kernels of a variant: this CPU, or an emulated one with its features.

    `DSLC_QEMU_CPU` names the CPU that QEMU emulates, on an Arm machine too.
    """
    cpu = os.environ.get("DSLC_QEMU_CPU")
    if cpu is None and is_host():
        return HostProcessor.get()
    return _emulated(cpu or _CPUS.get(variant, _LARGEST))


def _emulated(cpu: str) -> Processor:
    found = _emulators.get(cpu)
    if found is None or not found.alive:
        found = _emulators[cpu] = EmulatedProcessor(_guest(), cpu)
    return found


_emulators: dict[str, EmulatedProcessor] = {}


@functools.cache
def _guest() -> bytes:
    from dslc.codegen.aarch64.toolchain import link

    text = files("dslc.runtime.aarch64_emulator").joinpath("guest.s").read_text(encoding="utf-8")
    return link({"guest": text}, "program")


def present_target() -> str:
    """The target of the CPU that is there, the largest that it runs; elsewhere the largest of all."""
    variants = [n.partition(":")[2] for n, t in TARGETS.items() if t.family == "aarch64"]
    features = HostProcessor.get().features if is_host() else frozenset(FEATURES)
    best = best_variant(variants, features)
    if best is None:
        text = f"there is no target for a CPU with {', '.join(sorted(features)) or 'no features'}"
        raise error("DSL0901", text, hint=f"the variants are {', '.join(variants)}")
    return f"aarch64:{best}"
