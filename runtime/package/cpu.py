"""A CPU as a place where packaged kernels run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.native import NativeKernel, Processor
from dslc.runtime.native.loading import system_library
from dslc.runtime.native.variants import best_variant, needed_features
from dslc.runtime.package.folder import PackageFolder

# Where code of both is as good as a CPU allows, that of the first is taken.
FAMILIES = ("aarch64", "cpu")


class Cpu:
    """A CPU: that of this machine, or one that stands in for it.

    What the code of a target needs is what the package's own artifacts say.
    """

    def __init__(self, folder: PackageFolder, processor: Processor) -> None:
        self._folder, self._processor = folder, processor
        self._ranks: dict[str, tuple[int, ...] | None] = {}

    @property
    def name(self) -> str:
        """How messages call it."""
        return self._processor.name

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """The code that uses the most features first."""
        if target.partition(":")[0] not in FAMILIES:
            return None
        if target not in self._ranks:
            self._ranks[target] = self._rank(target)
        return self._ranks[target]

    def load(self, artifact: Artifact) -> _OnCpu:
        """DSL0860 where the CPU has not the instructions, DSL0803 without a library of this system."""
        return _OnCpu(artifact, self._processor)

    def _rank(self, target: str) -> tuple[int, ...] | None:
        kernels = self._folder.index.kernels
        artifact = next(
            self._folder.artifact(k, s)
            for k in kernels
            for s in k.specializations
            if s.target == target
        )
        fitting = best_variant(artifact, self._processor)
        if fitting is None:
            return None
        return (-len(needed_features(fitting)), FAMILIES.index(target.partition(":")[0]))


class _OnCpu:
    def __init__(self, artifact: Artifact, processor: Processor) -> None:
        self._kernel = NativeKernel(artifact, processor, system_library())
        self.signature = self._kernel.artifact.signature

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        if stream is not None:
            raise error("DSL0767", "this kernel runs on the CPU, which has no streams")
        self._kernel.launch(args, dims)
