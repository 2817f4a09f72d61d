"""An artifact for AMD GPUs, ready to be launched on any device that has machine code in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dslc.runtime.cuda.arrays import DeviceArray, device_array
from dslc.runtime.cuda.kernel import CudaKernel
from dslc.runtime.cuda.short_path import Call
from dslc.runtime.hip.device import HipDevice
from dslc.runtime.hip.driver import load_hip


def hip_array(value: Any, param: str, stream: int = 0) -> DeviceArray | None:
    """The array if it lies on an AMD GPU, of torch, CuPy or through DLPack; else None."""
    return device_array(value, param, stream, HipDevice.place, load_hip)


class HipGpuKernel(CudaKernel):
    """A compiled kernel or program, launched as CUDA's are, and loaded at its first launch."""

    devices = HipDevice

    def find_array(self, value: Any, param: str, stream: int = 0) -> DeviceArray | None:
        """The array if it lies on an AMD GPU."""
        return hip_array(value, param, stream)

    def short_call(
        self, arguments: Sequence[object], dims: Mapping[str, int] | None = None
    ) -> Call | None:
        """None: the short way is made for CUDA's launches."""
        return None
