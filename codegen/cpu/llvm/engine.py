"""LLVM as an engine: text of modules to object code, for any machine, on this one.

No pass of LLVM's middle runs: the code is the order of Vector IR, and instruction selection, scheduling
and register allocation are LLVM's. Equal texts give equal bytes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import llvmlite.binding as llvm
from dslc.codegen.cpu.llvm.printer import print_llvm
from dslc.codegen.cpu.llvm.processors import capabilities, triple_of
from dslc.compiler.targets.cpu import Processor
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.legal import legalise

_LEVEL = 2  # of code generation; 0 spills hundreds of registers, 1 to 3 differ little
_LOCK = threading.Lock()  # LLVM's global context belongs to one thread at a time


@functools.cache
def _initialised() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def compile_module(module: Module, processor: Processor, system: str = "linux") -> bytes:
    """An object file with the functions of a module, which is legalised for the processor first.

    `system` is that of the object's format: `linux`, `macos` or `windows`. The code calls nothing: no
    function of a C library and none of a compiler's runtime.
    """
    triple = triple_of(processor, system)
    text = print_llvm(legalise(module, capabilities(processor)), triple, processor.tune)
    return object_code(text, triple, processor)


def object_code(text: str, triple: str, processor: Processor) -> bytes:
    """An object file of the module of that text."""
    with _parsed(text, triple, processor) as (module, machine):
        return bytes(machine.emit_object(module))


def assembly(text: str, triple: str, processor: Processor) -> str:
    """The code of the module as the machine's assembly, for readers."""
    with _parsed(text, triple, processor) as (module, machine):
        return str(machine.emit_assembly(module))


@contextmanager
def _parsed(
    text: str, triple: str, processor: Processor
) -> Iterator[tuple[llvm.ModuleRef, llvm.TargetMachine]]:
    """The module of that text, in a context of its own, and what makes code of it."""
    with (
        _LOCK,
        _machine(triple, processor) as machine,
        llvm.create_context() as context,
        llvm.parse_assembly(text, context) as module,  # closed before its context
    ):
        module.verify()
        yield module, machine


def _machine(triple: str, processor: Processor) -> llvm.TargetMachine:
    _initialised()
    features = processor.attributes
    if processor.machine == "aarch64":  # some systems keep the register for themselves
        features = f"{features},+reserve-x18".lstrip(",")
    return llvm.Target.from_triple(triple).create_target_machine(
        processor.base, features, _LEVEL, reloc="pic", codemodel="small"
    )
