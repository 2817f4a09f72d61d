"""Artifacts that hold code for several CPUs: which of it a processor runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dslc.compiler.artifact import Artifact, decode
from dslc.compiler.diagnostics import error
from dslc.runtime.aarch64.features import best_variant
from dslc.runtime.aarch64.processor import Processor


@dataclass(frozen=True, slots=True)
class _Launch:
    """The manifests of the variants."""

    variants: tuple[dict[str, Any], ...]


def chosen_variant(artifact: Artifact, processor: Processor) -> Artifact:
    """The variant of an artifact that a processor runs best, with the library of all.

    An artifact of one variant is given as it is. DSL0860 where it runs none.
    """
    if "variants" not in artifact.launch:
        return artifact
    found = decode(_Launch, artifact.launch, f"the launch of {artifact.name}").variants
    by_name = {str(m.get("target")).partition(":")[2]: m for m in found}
    chosen = Artifact.from_manifest(by_name[choose_variant(by_name, processor)], {})
    return dataclasses.replace(chosen, files=artifact.files)


def choose_variant(variants: Iterable[str], processor: Processor) -> str:
    """The best of the variants that a processor runs; DSL0860 where it runs none."""
    listed = tuple(variants)
    best = best_variant(listed, processor.features)
    if best is None:
        text = f"{processor.name} runs none of {', '.join(listed)}"
        raise error("DSL0860", text, hint="aarch64:base runs on every 64-bit Arm CPU")
    return best
