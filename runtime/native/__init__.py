"""Kernels on CPUs: which CPU is there, and how a kernel runs on it or on an emulated one."""

from dslc.runtime.native.features import host_features, host_machine, host_maker
from dslc.runtime.native.host import HostProcessor
from dslc.runtime.native.kernel import NativeKernel
from dslc.runtime.native.processor import Processor

__all__ = [
    "HostProcessor",
    "NativeKernel",
    "Processor",
    "host_features",
    "host_machine",
    "host_maker",
]
