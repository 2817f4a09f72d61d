"""From a scheduled kernel to an artifact: its code, and how it is called.

The launch description and the entry are those of AArch64's libraries (codegen/aarch64/lowering.py), so
that one runtime calls both.
"""

from __future__ import annotations

from dslc.codegen.calls import argument_words, program_artifact
from dslc.codegen.cpu.generate import Generated, generate
from dslc.codegen.cpu.llvm.printer import print_llvm
from dslc.codegen.cpu.llvm.processors import capabilities, triple_of
from dslc.codegen.padding import refuse_padding
from dslc.codegen.quoting import ascii_name
from dslc.compiler.artifact import UNKNOWN, Artifact, Json
from dslc.compiler.ir import Kernel, Program, TileProgram
from dslc.compiler.ir.rewrite import kernels as kernels_of
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target
from dslc.compiler.targets.cpu import processor_of
from dslc.compiler.vector.function import Function, Module
from dslc.compiler.vector.legal import legalise

SOURCE = "kernel.ll"


def lower(program: TileProgram, target: Target) -> Artifact:
    """The LLVM text of what the passes have scheduled; equal kernels of a program are one.

    DSL0590 for what the generator cannot say.
    """
    refuse_padding(program)
    if isinstance(program, Kernel):
        return _lower_kernel(program, target)
    return _lower_program(program, target)


def variant_of(target: Target) -> str:
    """The CPU that a target stands for."""
    return target.name.partition(":")[2]


def symbol_of(kernel: Kernel, target: Target) -> str:
    """The name of a kernel's function."""
    return f"{ascii_name(kernel.name)}__{variant_of(target).replace('-', '_')}"


def generated(kernel: Kernel, target: Target) -> Generated:
    """The function of a kernel for a target."""
    return generate(kernel, processor_of(target), symbol_of(kernel, target))


def _lower_kernel(kernel: Kernel, target: Target) -> Artifact:
    made = generated(kernel, target)
    launch: dict[str, Json] = {
        "variant": variant_of(target),
        "features": sorted(processor_of(target).features),
        "arguments": argument_words(kernel),
        "scratch": made.scratch,
        "asserts": list(made.asserts),
        "grid": list(grid_of(kernel)),
    }
    return Artifact(
        kernel.name,
        "kernel",
        target.name,
        made.function.name,
        signature_of(kernel, {}),
        UNKNOWN,
        grid_of(kernel),
        workspaces=workspaces_of(kernel),
        launch=launch,
        files={SOURCE: _text(made.function, target).encode()},
    )


def _text(function: Function, target: Target) -> str:
    """A function for LLVM; its triple's system is Linux."""
    processor = processor_of(target)
    legal = legalise(Module((function,)), capabilities(processor))
    return print_llvm(legal, triple_of(processor, "linux"), processor.tune)


def _lower_program(program: Program, target: Target) -> Artifact:
    lowered = {k: _lower_kernel(k, target) for k in kernels_of(program)}
    return program_artifact(program, target, lowered, SOURCE)
