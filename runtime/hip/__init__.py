"""Kernels for AMD Instinct, loaded from artifacts and run."""

from dslc.runtime.hip.kernel import HipKernel

__all__ = ["HipKernel"]
