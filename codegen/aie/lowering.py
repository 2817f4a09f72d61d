"""From scheduled kernels to an artifact: MLIR of the aie dialect, and how its arguments lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dslc.codegen.aie.planning.arguments import (
    are_bytes,
    program_as_arrays,
    scalar_words,
    scalars_of,
)
from dslc.codegen.aie.planning.events import Tensor
from dslc.codegen.aie.planning.herd import turn_counts
from dslc.codegen.aie.planning.plan_kernel import plan_kernel
from dslc.codegen.aie.planning.stitching import plan_program
from dslc.codegen.aie.printing.descriptors import descriptor_lines, print_descriptors
from dslc.codegen.aie.printing.dispatch import print_dispatch
from dslc.codegen.aie.printing.objectfifos import fifo_lines, print_objectfifos
from dslc.codegen.aie.proving.stitched_legality import prove_stitched
from dslc.codegen.padding import refuse_padding
from dslc.codegen.row_codes import with_row_codes
from dslc.compiler.artifact import UNKNOWN, Artifact, Json
from dslc.compiler.ir import Kernel, Memory, Program, Role, TileProgram
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.program import Param
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE, EXPLICIT = "kernel.mlir", "explicit.mlir"
_EMPTY = "module {\n}\n"


def lower(program: TileProgram, target: Target) -> Artifact:
    """Place kernels on the array and print them; DSL0590 to DSL0554 for what has no place there."""
    refuse_padding(program)
    over, codes = with_row_codes(program)
    made = _lower_kernel(over, target) if isinstance(over, Kernel) else _lower_program(over, target)
    launch: dict[str, Json] = {**made.launch, "codes": list(codes)}
    return replace(made, signature=signature_of(program, {}), launch=launch)


def _lower_kernel(kernel: Kernel, target: Target) -> Artifact:
    if not kernel.dims and 0 in turn_counts(kernel):  # a launch does nothing
        return _artifact(kernel, target, {SOURCE: _EMPTY, EXPLICIT: _EMPTY}, [])
    planned = plan_kernel(kernel, target)
    device = target.name.partition(":")[2]
    files = {
        SOURCE: print_objectfifos(planned, device),
        EXPLICIT: print_descriptors(planned, device),
    }
    written = {s.memory for s in planned.plan.streams if s.output}
    words = {planned.plan.kernel.params[-1]: scalar_words(scalars_of(kernel))}
    arguments = _arguments(planned.plan.tensors, written, words, kernel)
    return _artifact(kernel, target, files, arguments)


def _lower_program(program: Program, target: Target) -> Artifact:
    arrays, words = program_as_arrays(program)
    stitched = plan_program(arrays, target)
    prove_stitched(stitched)
    device = target.name.partition(":")[2]
    files = {
        SOURCE: print_dispatch(stitched, device, fifo_lines),
        EXPLICIT: print_dispatch(stitched, device, descriptor_lines),
    }
    written = {t.memory for t in stitched.tensors if t.memory.role is not Role.IN}
    return _artifact(program, target, files, _arguments(stitched.tensors, written, words, program))


def _arguments(
    tensors: Iterable[Tensor],
    written: set[Memory],
    words: Mapping[Param, list[Json]],
    program: TileProgram,
) -> list[Json]:
    """The arguments of the dispatch in order: how each lies in the host's memory (`shape`), of which
    `extents` are its own, from `origin` on; `role` is in, out, inout, or buffer for what only passes
    between launches.

    What lies beyond `needed` elements of its own along the first axis may be anything. `packed` tensors
    are rows of bytes, `scalars` the expressions and types whose words one holds.
    """
    packed = {m.name for m in program.params if are_bytes(m)}
    described: list[Json] = []
    for t in tensors:
        argument: dict[str, Json] = {
            "name": t.memory.name,
            "dtype": t.memory.dtype.name,
            "shape": list(t.shape),
            "origin": list(t.origin),
            "needed": t.needed,
            "extents": [int(constant(n) or 0) for n in t.memory.shape],
            "role": t.memory.role.value,
            "written": t.memory in written,
            "packed": t.memory.name in packed,
        }
        if words.get(t.memory):
            argument["scalars"] = words[t.memory]
        described.append(argument)
    return described


def _artifact(
    program: TileProgram, target: Target, files: Mapping[str, str], arguments: list[Json]
) -> Artifact:
    kernel = program if isinstance(program, Kernel) else None
    return Artifact(
        name=program.name,
        kind="kernel" if kernel else "program",
        target=target.name,
        entry=program.name,
        signature=signature_of(program, {}),
        hashes=UNKNOWN,
        grid=grid_of(kernel) if kernel else (),
        workspaces=workspaces_of(kernel) if kernel else (),
        launch={"arguments": arguments},
        files={name: text.encode() for name, text in files.items()},
    )
