"""From a scheduled kernel to an artifact: assembly, and how it is called."""

from __future__ import annotations

from dslc.codegen.aarch64.generate import FEATURES, emit, variant_of
from dslc.codegen.aarch64.tools.library import SOURCE
from dslc.codegen.calls import cpu_artifact
from dslc.compiler.artifact import Artifact
from dslc.compiler.ir import TileProgram
from dslc.compiler.targets import Target


def lower(program: TileProgram, target: Target) -> Artifact:
    """The assembly of what the passes have scheduled; equal kernels of a program are one.

    `with_library` adds the library. DSL0590 for what the generator cannot say.
    """
    features = FEATURES[variant_of(target)]
    return cpu_artifact(program, target, SOURCE, features, lambda kernel: emit(kernel, target))
