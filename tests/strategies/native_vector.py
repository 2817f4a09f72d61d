"""Running legal functions of Vector IR natively, in this process."""

from __future__ import annotations

import ctypes
import itertools
import platform
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from dslc.codegen.cpu.llvm.engine import compile_module
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.targets.cpu import Processor, processor_by_name
from dslc.compiler.vector.function import Module

_COUNT = itertools.count()


@cache
def _jit() -> llvm.LLJIT:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler()


def run_native(module: Module, name: str, processor: Processor, *args: Any) -> int:
    """The status of the function of that name; arrays and numbers as the interpreter takes them."""
    return load(compile_module(module, processor), name)(*args)


def load(content: bytes, name: str) -> Any:
    """A function of an object file. It finds no symbol of this process: what calls one fails."""
    builder = llvm.JITLibraryBuilder().add_object_img(content).export_symbol(name)
    library = builder.link(_jit(), f"vector{next(_COUNT)}")
    function = ctypes.CFUNCTYPE(ctypes.c_int32)(library[name])

    def call(*args: Any) -> int:
        converted = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_int64(a)
            for a in args
        ]
        assert library
        return int(function(*converted))

    return call


def runnable(*names: str) -> dict[str, Processor]:
    """Those of the processors of that name that have no feature that this machine lacks."""
    own = {name for name, has in llvm.get_host_cpu_features().items() if has}
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    found = {name: processor_by_name(f"cpu:{name}") for name in names}
    return {n: p for n, p in found.items() if p.machine == machine and p.features <= own}


def aligned(size: int) -> Array:
    """Zeros at a multiple of 64 bytes."""
    whole = np.zeros(size + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + size]


PROCESSORS = runnable("x86-64-v3", "znver4", "armv8-a")
