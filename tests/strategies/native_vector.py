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
from dslc.compiler.targets import cpu
from dslc.compiler.targets.cpu import Processor
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
    """Those of the given processors that have no feature that this machine lacks."""
    own = {name for name, has in llvm.get_host_cpu_features().items() if has}
    found = {name: cpu._PROCESSORS[name] for name in names}
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return {n: p for n, p in found.items() if p.machine == machine and p.features <= own | _UNNAMED}


_UNNAMED = frozenset({"fp16"})
