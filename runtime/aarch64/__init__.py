"""Kernels for AArch64: which CPU is there, and how a kernel runs on it or on an emulated one."""

from dslc.runtime.aarch64.features import (
    FEATURES,
    VARIANTS,
    best_variant,
    features_of,
    host_features,
)
from dslc.runtime.aarch64.host import HostProcessor, is_host
from dslc.runtime.aarch64.kernel import Aarch64Kernel
from dslc.runtime.aarch64.processor import Processor
from dslc.runtime.aarch64.slices import slices

__all__ = [
    "FEATURES",
    "VARIANTS",
    "Aarch64Kernel",
    "HostProcessor",
    "Processor",
    "best_variant",
    "features_of",
    "host_features",
    "is_host",
    "slices",
]
