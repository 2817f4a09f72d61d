"""Symbols of a program's kernels, where each has a text and all go into one library."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from dslc.compiler.artifact import Artifact, Json


def with_own_symbols(artifact: Artifact, source: str) -> Artifact:
    """The artifact of a program whose kernels have symbols of their own, in their texts too.

    Two that are made of one kernel have one symbol: those but the first get their number behind it. A
    kernel's text is the file `source` with its number before it.
    """
    files = dict(artifact.files)
    manifests: list[Json] = []
    seen: set[str] = set()
    for number, manifest in enumerate(artifact.launch["kernels"]):
        entry: str = manifest["entry"]
        own = f"{entry}_{number}" if entry in seen else entry
        seen.add(own)
        name = f"{number}.{source}"
        files[name] = renamed(files[name].decode(), entry, own).encode()
        manifests.append({**manifest, "entry": own, "files": {}})
    launch = {**artifact.launch, "kernels": manifests}
    return dataclasses.replace(artifact, files=files, launch=launch)


def with_variants(artifacts: Sequence[Artifact], source: str) -> Artifact:
    """One artifact of those for several variants of a CPU: `launch` has their manifests.

    The texts of each have the variant's name before theirs.
    """
    own = [a if a.kind == "kernel" else with_own_symbols(a, source) for a in artifacts]
    names = [a.target.partition(":")[2] for a in own]
    files = {f"{v}.{n}": c for v, a in zip(names, own, strict=True) for n, c in a.files.items()}
    manifests: list[Json] = [{**a.to_manifest(), "files": {}} for a in own]
    return dataclasses.replace(
        own[0], files=files, launch={"variants": manifests}, entry=own[0].name
    )


def renamed(text: str, symbol: str, other: str) -> str:
    """A text with one symbol called otherwise."""
    return re.sub(rf"(?<![\w.$]){re.escape(symbol)}(?![\w.$])", other, text)
