"""The device functions of CUDA kernels: those of the family, of prelude.cuh, mma.py and wgmma.py."""

from __future__ import annotations

import functools
from importlib.resources import files

from dslc.codegen.c_family.functions import functions_of, shared_functions
from dslc.codegen.c_family.functions import used as used_of
from dslc.codegen.cuda import mma, wgmma


@functools.cache
def functions() -> dict[str, str]:
    """Every function by name."""
    text = files("dslc.codegen.cuda").joinpath("prelude.cuh").read_text(encoding="utf-8")
    return shared_functions() | functions_of(text) | mma.functions() | wgmma.functions()


def used(text: str) -> str:
    """The functions that a text names, and what these name in turn."""
    return used_of(text, functions())
