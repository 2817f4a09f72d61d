"""The library of an artifact: LLVM's text of all its kernels, compiled and linked into one file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Literal, TypeAlias

from dslc.codegen.cpu.llvm.processors import triple_of
from dslc.codegen.cpu.tools.archives import archive
from dslc.codegen.cpu.tools.elf_library import link_elf
from dslc.codegen.cpu.tools.macho_library import link_macho
from dslc.codegen.symbols import with_own_symbols, with_variants
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.targets.cpu import Processor, processor_by_name

SOURCE = "kernel.ll"
System: TypeAlias = Literal["linux", "macos"]
LIBRARIES: dict[System, str] = {"linux": "kernel.so", "macos": "kernel.dylib"}
_TRIPLE = re.compile(r"^target triple = .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Text:
    """A kernel's text, by the name of its file, and the CPU that it is for."""

    name: str
    text: str
    processor: Processor


def with_library(artifact: Artifact, system: System = "linux") -> Artifact:
    """The artifact with its library for a system.

    A program's kernels go into one; equal symbols of them become different. DSL0951 without LLVM, or
    for macOS without a linker; DSL0952 for a text that LLVM refuses.
    """
    made = artifact if artifact.kind == "kernel" else with_own_symbols(artifact, SOURCE)
    return _with(made, system)


def join(artifacts: Sequence[Artifact], system: System = "linux") -> Artifact:
    """One artifact of those for several CPUs, with one library: `launch` has their manifests.

    The errors are those of `with_library`.
    """
    return _with(with_variants(artifacts, SOURCE), system)


def texts_of(artifact: Artifact) -> Iterator[Text]:
    """The texts of all kernels; those of a variant bear its name before theirs."""
    targets = [str(m["target"]) for m in artifact.launch.get("variants", ())]
    variants = {target.partition(":")[2]: target for target in targets}
    for name, content in artifact.files.items():
        if name.endswith(SOURCE):
            own = next(
                (t for v, t in variants.items() if name.startswith(f"{v}.")), artifact.target
            )
            yield Text(name, content.decode(), processor_by_name(own))


def objects_of(artifact: Artifact, system: System = "linux") -> dict[str, bytes]:
    """An object file of each text, by name. DSL0951 without LLVM, DSL0952 where it refuses a text."""
    llvm, found = _engine(), {}
    for t in texts_of(artifact):
        triple = triple_of(t.processor, system)
        text = _TRIPLE.sub(f'target triple = "{triple}"', t.text)
        try:
            found[f"{t.name.removesuffix('.ll')}.o"] = llvm.object_code(text, triple, t.processor)
        except RuntimeError as refusal:
            raise error(
                "DSL0952",
                f"LLVM refuses the text of {artifact.name}: {str(refusal).strip()[:2000]}",
                hint="this is a defect of the generator: `dslc build --emit ll` shows the text",
            ) from None
    return found


def library_of(artifact: Artifact, system: System = "linux") -> bytes:
    """The library of an artifact's texts, whatever it holds already."""
    objects = objects_of(artifact, system)
    return link_elf(list(objects.values())) if system == "linux" else link_macho(objects)


def archive_of(artifact: Artifact) -> bytes:
    """The static library for Linux."""
    return archive(objects_of(artifact))


def assembly_of(artifact: Artifact) -> dict[str, str]:
    """The machine's assembly of each text, as LLVM prints it for Linux, by name."""
    llvm = _engine()
    return {
        f"{t.name.removesuffix('.ll')}.s": llvm.assembly(
            t.text, triple_of(t.processor, "linux"), t.processor
        )
        for t in texts_of(artifact)
    }


def with_assembly(artifact: Artifact) -> Artifact:
    """The artifact with its assembly in place of LLVM's texts and the library."""
    files = {name: text.encode() for name, text in assembly_of(artifact).items()}
    return dataclasses.replace(artifact, files=files)


def _with(artifact: Artifact, system: System) -> Artifact:
    files = {**artifact.files, LIBRARIES[system]: library_of(artifact, system)}
    return dataclasses.replace(artifact, files=files)


def _engine() -> ModuleType:
    """The room of LLVM; DSL0951 where its package is missing or does not load."""
    try:
        from dslc.codegen.cpu.llvm import engine
    except (ImportError, OSError) as missing:
        raise error(
            "DSL0951",
            f"kernels for CPUs are compiled by LLVM, which is not here: {missing}",
            hint="pip install 'llvmlite>=0.50,<0.51', or --target interp, which needs no compiler",
        ) from None
    return engine
