"""Which code of an artifact a processor runs: the artifact as it is, or one of several variants."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dslc.compiler.artifact import Artifact, decode
from dslc.compiler.diagnostics import error
from dslc.runtime.native.loading import LIBRARY, LIBRARY_MACOS, machine_of
from dslc.runtime.native.processor import Processor


@dataclass(frozen=True, slots=True)
class _Launch:
    """The manifests of the variants."""

    variants: tuple[dict[str, Any], ...]


def variants_of(artifact: Artifact) -> tuple[Artifact, ...]:
    """The variants of an artifact, each with the library of all; itself where it has none."""
    if "variants" not in artifact.launch:
        return (artifact,)
    manifests = decode(_Launch, artifact.launch, f"the launch of {artifact.name}").variants
    own = (Artifact.from_manifest(m, {}) for m in manifests)
    return tuple(dataclasses.replace(v, files=artifact.files) for v in own)


def best_variant(artifact: Artifact, processor: Processor) -> Artifact | None:
    """The variant that uses the most features of those that a processor has; of equals the first.

    None where it runs none of them.
    """
    fitting = (v for v in variants_of(artifact) if _fits(v, processor))
    return max(fitting, key=lambda v: len(needed_features(v)), default=None)


def chosen_variant(artifact: Artifact, processor: Processor) -> Artifact:
    """The same; DSL0860 where the processor runs none, with what it has and what it would need."""
    best = best_variant(artifact, processor)
    if best is not None:
        return best
    variants = variants_of(artifact)
    machine = next(filter(None, map(_machine, variants)), processor.machine)
    least = min(map(needed_features, variants), key=len)
    lacking = sorted(least - processor.features)
    what = f"has no {', '.join(lacking)}" if machine == processor.machine else f"is no {machine}"
    raise error(
        "DSL0860",
        f"{artifact.name} was compiled for {', '.join(v.target for v in variants)}, which needs "
        f"{_listed(least)}: {processor.name} {what}",
        hint=f"it has {_listed(processor.features)}; build it for this CPU, or for several",
    )


def needed_features(artifact: Artifact) -> frozenset[str]:
    """What a CPU needs to run an artifact of one variant: of a program what its kernels need."""
    launch: Mapping[str, Any] = artifact.launch
    parts = [launch, *(k.get("launch", {}) for k in launch.get("kernels", ()))]
    return frozenset(str(f) for part in parts for f in part.get("features", ()))


def _fits(artifact: Artifact, processor: Processor) -> bool:
    is_known = _machine(artifact) in (None, processor.machine)
    return is_known and needed_features(artifact) <= processor.features


def _machine(artifact: Artifact) -> str | None:
    """The machine of an artifact's library, where it has one."""
    contents = (artifact.files.get(name) for name in (LIBRARY, LIBRARY_MACOS))
    return next((machine_of(c) for c in contents if c is not None), None)


def _listed(features: Iterable[str]) -> str:
    return ", ".join(sorted(features)) or "no features"
