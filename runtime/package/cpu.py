"""An Arm CPU as a place where packaged kernels run."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.aarch64 import Aarch64Kernel, Processor, best_variant
from dslc.runtime.aarch64.kernel import LIBRARY, LIBRARY_MACOS
from dslc.runtime.aarch64.variants import chosen_variant


@dataclass(frozen=True, slots=True)
class Cpu:
    """An Arm CPU: that of this machine, or one that stands in for it."""

    processor: Processor

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.processor.name

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """The largest variant first; code for all of them is as good as its best."""
        family, _, variant = target.partition(":")
        if family != "aarch64":
            return None
        if variant == "all":
            return (0,)
        fitting = best_variant([variant], self.processor.features) is not None
        return (1 + ["bf16", "i8mm", "dotprod", "base"].index(variant),) if fitting else None

    def load(self, artifact: Artifact) -> _OnCpu:
        """DSL0860 where the CPU has not the instructions, DSL0803 without a library of this system."""
        return _OnCpu(artifact, self.processor)


class _OnCpu:
    def __init__(self, artifact: Artifact, processor: Processor) -> None:
        chosen = chosen_variant(artifact, processor)
        file = LIBRARY_MACOS if sys.platform == "darwin" else LIBRARY
        self.signature = chosen.signature
        self._kernel = Aarch64Kernel(chosen, processor, file)

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        if stream is not None:
            raise error("DSL0767", "this kernel runs on the CPU, which has no streams")
        self._kernel.launch(args, dims)
