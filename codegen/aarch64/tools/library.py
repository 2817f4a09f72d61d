"""The library of an artifact: all its kernels, assembled and linked into one file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from dslc.codegen.aarch64.tools.toolchain import link
from dslc.codegen.symbols import with_own_symbols, with_variants
from dslc.compiler.artifact import Artifact

SOURCE = "kernel.s"
LIBRARY = "kernel.so"
LIBRARY_MACOS = "kernel.dylib"


def with_library(artifact: Artifact, *, macos: bool = False) -> Artifact:
    """The artifact with its library.

    A program's kernels go into one. Two that are made of one kernel have one symbol: those but the
    first get their number behind it. DSL0951 without a toolchain, DSL0952 for a refused text.
    """
    whole = artifact if artifact.kind == "kernel" else with_own_symbols(artifact, SOURCE)
    return _with(whole, macos)


def join(artifacts: Sequence[Artifact], *, macos: bool = False) -> Artifact:
    """One artifact of those for several variants, with one library: `launch` has their manifests.

    The errors are those of `with_library`.
    """
    return _with(with_variants(artifacts, SOURCE), macos)


def library_of(artifact: Artifact, *, macos: bool) -> bytes:
    """The library of an artifact's sources, for Linux or for macOS, whatever it holds already."""
    texts = {n.removesuffix(".s"): c.decode() for n, c in sources_of(artifact).items()}
    return link(texts, "dylib" if macos else "library")


def _with(artifact: Artifact, macos: bool) -> Artifact:
    name = LIBRARY_MACOS if macos else LIBRARY
    files = {**artifact.files, name: library_of(artifact, macos=macos)}
    return dataclasses.replace(artifact, files=files)


def sources_of(artifact: Artifact) -> dict[str, bytes]:
    """Its files of assembly."""
    return {n: c for n, c in artifact.files.items() if n.endswith(".s")}
