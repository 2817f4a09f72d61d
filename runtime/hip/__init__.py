"""Kernels for AMD Instinct, loaded from artifacts and run: in the emulator, or on a GPU."""

from dslc.runtime.hip.device import HipDevice, is_present
from dslc.runtime.hip.emulated import HipKernel
from dslc.runtime.hip.kernel import HipGpuKernel

__all__ = ["HipDevice", "HipGpuKernel", "HipKernel", "is_present"]
