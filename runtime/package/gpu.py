"""An NVIDIA GPU as a place where packaged kernels run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dslc.compiler.artifact import Artifact
from dslc.runtime.cuda import CudaDevice, CudaKernel
from dslc.runtime.cuda.device import fits, ptx_fits


@dataclass(frozen=True, slots=True)
class Gpu:
    """The NVIDIA GPU of an ordinal. `native` refuses code that the driver would have to compile."""

    ordinal: int = 0
    native: bool = False
    name: str = field(default="the GPU", init=False)

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """Machine code before PTX, the newest architecture first. DSL0840 without the GPU.

        Of one architecture, code for as many multiprocessors comes before code for any other number.
        """
        family, _, chip = target.partition(":")
        if family != "cuda":
            return None
        device = CudaDevice.get(self.ordinal)
        capability = device.capability
        architecture, _, units = chip.partition(".")
        number = architecture.removeprefix("sm_")
        if not number.rstrip("af").isdecimal():
            return None
        newest = -int(number.rstrip("af"))
        if fits(architecture, capability) and "cubin" in forms:
            others = int(bool(units)) + int(units not in ("", str(device.units)))
            return (0, newest, -int(number.endswith("a")), others)
        if ptx_fits(architecture, capability) and "ptx" in forms and not self.native:
            return (1, newest)
        return None

    def load(self, artifact: Artifact) -> _OnGpu:
        """The driver loads it at the first launch."""
        return _OnGpu(artifact)


class _OnGpu:
    def __init__(self, artifact: Artifact) -> None:
        self.signature = artifact.signature
        self._kernel = CudaKernel(artifact)

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        self._kernel.launch(args, stream, dims)
