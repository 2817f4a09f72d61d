"""The library of an artifact: all its kernels, assembled and linked into one file."""

from __future__ import annotations

import dataclasses
import re

from dslc.codegen.aarch64.toolchain import link
from dslc.compiler.artifact import Artifact, Json

SOURCE = "kernel.s"
LIBRARY = "kernel.so"
LIBRARY_MACOS = "kernel.dylib"


def with_library(artifact: Artifact, *, macos: bool = False) -> Artifact:
    """The artifact with its library in place of none.

    A program's kernels go into one library. Two that are made of one kernel have one symbol: those but
    the first get their number behind it. DSL0951 without a toolchain, DSL0952 for a refused text.
    """
    made = artifact if artifact.kind == "kernel" else _with_own_symbols(artifact)
    name, kind = (LIBRARY_MACOS, "dylib") if macos else (LIBRARY, "library")
    texts = {n.removesuffix(".s"): c.decode() for n, c in sources_of(made).items()}
    library = link(texts, "dylib" if kind == "dylib" else "library")
    return dataclasses.replace(made, files={**made.files, name: library})


def sources_of(artifact: Artifact) -> dict[str, bytes]:
    """Its files of assembly."""
    return {n: c for n, c in artifact.files.items() if n.endswith(".s")}


def _with_own_symbols(artifact: Artifact) -> Artifact:
    files = dict(artifact.files)
    manifests: list[Json] = []
    seen: set[str] = set()
    for number, manifest in enumerate(artifact.launch["kernels"]):
        entry: str = manifest["entry"]
        own = f"{entry}_{number}" if entry in seen else entry
        seen.add(own)
        source = f"{number}.{SOURCE}"
        word = re.compile(rf"(?<![\w.$]){re.escape(entry)}(?![\w.$])")
        files[source] = word.sub(own, files[source].decode()).encode()
        manifests.append({**manifest, "entry": own, "files": {}})
    return dataclasses.replace(
        artifact, files=files, launch={**artifact.launch, "kernels": manifests}
    )
