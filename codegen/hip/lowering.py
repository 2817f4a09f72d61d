"""From a scheduled kernel to an artifact: HIP C++, ISA text, a code object, and how it is launched."""

from __future__ import annotations

from dslc.codegen.c_family.launching import (
    alignments_of,
    arguments_of,
    blocks_of,
)
from dslc.codegen.calls import program_artifact
from dslc.codegen.hip.generate import emit
from dslc.codegen.hip.toolchain import DEFAULT, Binary, Options, compile_hip
from dslc.codegen.quoting import entry_name
from dslc.compiler.artifact import UNKNOWN, Artifact, Json
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.rewrite import kernels as kernels_of
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE = "kernel.hip"


def lower(program: TileProgram, target: Target, options: Options = DEFAULT) -> Artifact:
    """Compile what the passes of a GPU have scheduled; equal kernels of a program are one.

    DSL0590 for what the generator cannot say, DSL0501 for more LDS than there is, DSL0951 without a
    compiler.
    """
    if isinstance(program, Kernel):
        return _lower_kernel(program, target, options, {})
    compiled: dict[str, Binary] = {}
    lowered = {k: _lower_kernel(k, target, options, compiled) for k in kernels_of(program)}
    return program_artifact(program, target, lowered, SOURCE, alignments_of(program))


def _lower_kernel(
    kernel: Kernel, target: Target, options: Options, compiled: dict[str, Binary]
) -> Artifact:
    chip = target.chip
    text, shared = emit(kernel, target)
    if text not in compiled:
        compiled[text] = compile_hip(text, chip, options, f"{kernel.name}.hip")
    binary = compiled[text]
    launch: dict[str, Json] = {
        "threads": kernel.threads,
        "grid": [blocks_of(kernel)],
        "arguments": arguments_of(kernel),
        **alignments_of(kernel),
        "resources": binary.resources[entry_name(kernel.name)].to_data(),
    }
    return Artifact(
        kernel.name,
        "kernel",
        target.name,
        entry_name(kernel.name),
        signature_of(kernel, {}),
        UNKNOWN,
        grid_of(kernel),
        shared,
        workspaces_of(kernel),
        launch,
        {
            SOURCE: text.encode(),
            f"{chip}.s": binary.isa.encode(),
            f"{chip}.hsaco": binary.hsaco,
        },
    )
