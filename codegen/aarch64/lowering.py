"""From a scheduled kernel to an artifact: assembly, and how it is called."""

from __future__ import annotations

from dslc.codegen.aarch64.generate import FEATURES, emit, variant_of
from dslc.codegen.aarch64.tools.library import SOURCE
from dslc.codegen.calls import argument_words, program_artifact
from dslc.codegen.padding import refuse_padding
from dslc.compiler.artifact import UNKNOWN, Artifact, Json
from dslc.compiler.ir import Kernel, Program, TileProgram
from dslc.compiler.ir.rewrite import kernels as kernels_of
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target


def lower(program: TileProgram, target: Target) -> Artifact:
    """The assembly of what the passes have scheduled; equal kernels of a program are one.

    `with_library` adds the library. DSL0590 for what the generator cannot say.
    """
    refuse_padding(program)
    if isinstance(program, Kernel):
        return _lower_kernel(program, target)
    return _lower_program(program, target)


def _lower_kernel(kernel: Kernel, target: Target) -> Artifact:
    function = emit(kernel, target)
    variant = variant_of(target)
    launch: dict[str, Json] = {
        "variant": variant,
        "features": sorted(FEATURES[variant]),
        "arguments": argument_words(kernel),
        "scratch": function.scratch,
        "asserts": list(function.asserts),
        "grid": list(grid_of(kernel)),
    }
    return Artifact(
        kernel.name,
        "kernel",
        target.name,
        function.symbol,
        signature_of(kernel, {}),
        UNKNOWN,
        grid_of(kernel),
        workspaces=workspaces_of(kernel),
        launch=launch,
        files={SOURCE: function.text.encode()},
    )


def _lower_program(program: Program, target: Target) -> Artifact:
    lowered = {k: _lower_kernel(k, target) for k in kernels_of(program)}
    return program_artifact(program, target, lowered, SOURCE)
