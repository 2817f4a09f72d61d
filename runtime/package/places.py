"""What runs the specialisations of one target: a GPU, or the CPU."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dslc.compiler.artifact import Artifact, Signature
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.aarch64 import Aarch64Kernel, HostProcessor, Processor, best_variant, is_host
from dslc.runtime.aarch64.kernel import LIBRARY, LIBRARY_MACOS
from dslc.runtime.aarch64.variants import chosen_variant
from dslc.runtime.cuda import CudaDevice, CudaKernel
from dslc.runtime.cuda.device import fits, ptx_fits


class Loaded(Protocol):
    """A kernel that is ready to run; `signature` is that of the code which was chosen."""

    signature: Signature

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        """Run it once over arguments by parameter name; outputs are written in place."""


class Place(Protocol):
    """Somewhere to run: `rank` orders the targets that it runs, the best least; None for others."""

    @property
    def name(self) -> str:
        """How messages call it."""

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """How well it runs a target's code."""

    def load(self, artifact: Artifact) -> Loaded:
        """The artifact's code, loaded when it is first launched or at once."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """The NVIDIA GPU of an ordinal. `native` refuses code that the driver would have to compile."""

    ordinal: int = 0
    native: bool = False
    name: str = field(default="the GPU", init=False)

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """Machine code before PTX, the newest architecture first. DSL0840 without the GPU."""
        family, _, architecture = target.partition(":")
        if family != "cuda":
            return None
        capability = CudaDevice.get(self.ordinal).capability
        number = architecture.removeprefix("sm_")
        newest = -int(number.rstrip("af"))
        if fits(architecture, capability) and "cubin" in forms:
            return (0, newest, -int(number.endswith("a")))
        if ptx_fits(architecture, capability) and "ptx" in forms and not self.native:
            return (1, newest)
        return None

    def load(self, artifact: Artifact) -> Loaded:
        """The driver loads it at the first launch."""
        return _OnGpu(artifact)


class _OnGpu:
    def __init__(self, artifact: Artifact) -> None:
        self.signature = artifact.signature
        self._kernel = CudaKernel(artifact)

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        self._kernel.launch(args, stream, dims)


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

    def load(self, artifact: Artifact) -> Loaded:
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


def present_places(native: bool) -> list[Place]:
    """Where this machine runs kernels: its GPU, then its CPU."""
    places: list[Place] = []
    try:
        CudaDevice.get(0)
        places.append(Gpu(0, native))
    except DiagnosticError:
        pass
    if is_host():
        places.append(Cpu(HostProcessor.get()))
    return places
