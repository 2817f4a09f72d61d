"""A kernel's FlyDSL source, and the ISA text that the flydsl package makes of it."""

from __future__ import annotations

import functools

from dslc.codegen.flydsl.generate import Text, print_texts
from dslc.codegen.flydsl.toolchain import compile_flydsl
from dslc.codegen.hip.generate import emit
from dslc.codegen.quoting import entry_name
from dslc.compiler.ir import Kernel
from dslc.compiler.targets import find_target


def source(kernel: Kernel, chip: str) -> str:
    """The FlyDSL source of a scheduled kernel."""
    hip, _ = emit(kernel, find_target(f"hip:{chip}"))
    return print_texts([Text.of_kernel(kernel, hip)], kernel.name)


@functools.lru_cache(maxsize=64)
def isa(kernel: Kernel, chip: str) -> str:
    """FlyDSL's text for a kernel."""
    return compile_flydsl(source(kernel, chip), chip)[entry_name(kernel.name)]
