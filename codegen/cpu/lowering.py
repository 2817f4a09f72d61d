"""From a scheduled kernel to an artifact: its code, and how it is called."""

from __future__ import annotations

from dslc.codegen.calls import Code, cpu_artifact
from dslc.codegen.cpu.generate import Generated, generate
from dslc.codegen.cpu.llvm.printer import print_llvm
from dslc.codegen.cpu.llvm.processors import capabilities, triple_of
from dslc.codegen.quoting import ascii_name
from dslc.compiler.artifact import Artifact
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.targets import Target
from dslc.compiler.targets.cpu import processor_of
from dslc.compiler.vector.function import Function, Module
from dslc.compiler.vector.legal import legalise

SOURCE = "kernel.ll"


def lower(program: TileProgram, target: Target) -> Artifact:
    """The LLVM text of what the passes have scheduled; equal kernels of a program are one.

    DSL0590 for what the generator cannot say.
    """
    features = processor_of(target).features
    return cpu_artifact(program, target, SOURCE, features, lambda kernel: _code(kernel, target))


def variant_of(target: Target) -> str:
    """The CPU that a target stands for."""
    return target.name.partition(":")[2]


def symbol_of(kernel: Kernel, target: Target) -> str:
    """The name of a kernel's function."""
    return f"{ascii_name(kernel.name)}__{variant_of(target).replace('-', '_')}"


def generated(kernel: Kernel, target: Target) -> Generated:
    """The function of a kernel for a target."""
    return generate(kernel, processor_of(target), symbol_of(kernel, target))


def _code(kernel: Kernel, target: Target) -> Code:
    made = generated(kernel, target)
    return Code(made.function.name, _text(made.function, target), made.scratch, made.asserts)


def _text(function: Function, target: Target) -> str:
    """A function for LLVM; its triple's system is Linux."""
    processor = processor_of(target)
    legal = legalise(Module((function,)), capabilities(processor))
    return print_llvm(legal, triple_of(processor, "linux"), processor.tune)
