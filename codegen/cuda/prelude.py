"""The device functions of CUDA kernels: those of the family, of the *.cuh, mma.py and wgmma.py."""

from __future__ import annotations

import functools

from dslc.codegen.c_family.functions import library, shared_functions
from dslc.codegen.c_family.functions import used as used_of
from dslc.codegen.cuda import mma, wgmma


@functools.cache
def functions() -> dict[str, str]:
    """Every function by name."""
    own = library("dslc.codegen.cuda", "prelude.cuh", "hopper.cuh", "memory.cuh")
    return shared_functions() | own | mma.functions() | wgmma.functions()


def used(text: str) -> str:
    """The functions that a text names, and what these name in turn."""
    return used_of(text, functions())
