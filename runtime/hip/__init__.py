"""Kernels for AMD Instinct, loaded from artifacts and run: in the emulator, or on a GPU."""

from typing import TYPE_CHECKING

from dslc.runtime.lazy import lazy_names

if TYPE_CHECKING:
    from dslc.runtime.hip.device import HipDevice, is_present
    from dslc.runtime.hip.emulated import HipKernel
    from dslc.runtime.hip.kernel import HipGpuKernel

__all__ = ["HipDevice", "HipGpuKernel", "HipKernel", "is_present"]

__getattr__ = lazy_names(
    __name__,
    {
        "HipDevice": "dslc.runtime.hip.device",
        "HipGpuKernel": "dslc.runtime.hip.kernel",
        "HipKernel": "dslc.runtime.hip.emulated",
        "is_present": "dslc.runtime.hip.device",
    },
)
