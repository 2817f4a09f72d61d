"""Kernels for AArch64: the variants of their code, and an emulated CPU to run it elsewhere."""

from dslc.runtime.aarch64.features import VARIANTS, best_variant, is_host
from dslc.runtime.aarch64.slices import slices

__all__ = ["VARIANTS", "best_variant", "is_host", "slices"]
