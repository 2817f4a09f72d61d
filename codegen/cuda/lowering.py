"""From a scheduled kernel to an artifact: CUDA C, machine code, and how it is launched."""

from __future__ import annotations

from contextlib import nullcontext

from dslc.codegen.c_family.launching import (
    alignments_of,
    arguments_of,
    blocks_of,
)
from dslc.codegen.calls import program_artifact
from dslc.codegen.cuda.dependent_launch import launch_words
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.tma import tensor_maps
from dslc.codegen.cuda.tools.toolchain import (
    DEFAULT,
    Binary,
    Options,
    architecture_of,
    compile_cubin,
)
from dslc.codegen.cuda.trapping_waits import with_trapping_waits
from dslc.codegen.cuda.warp_specialization import launched_threads
from dslc.codegen.line_marks import directed, line_marks
from dslc.codegen.quoting import entry_name
from dslc.compiler.artifact import UNKNOWN, Artifact, Json
from dslc.compiler.ir import Kernel, Program, TileProgram
from dslc.compiler.ir.rewrite import kernels as kernels_of
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE = "kernel.cu"
_FEW_REGISTERS = 4


def lower(program: TileProgram, target: Target, options: Options = DEFAULT) -> Artifact:
    """Compile what the passes of a GPU have scheduled; equal kernels of a program are one.

    DSL0590 for what the generator cannot say, DSL0951 without a CUDA compiler.
    """
    if isinstance(program, Kernel):
        return _lower_kernel(program, target, options, {})
    return _lower_program(program, target, options)


def _lower_kernel(
    program: Kernel, target: Target, options: Options, compiled: dict[str, Binary]
) -> Artifact:
    architecture = architecture_of(target.name)
    text, shared, binary = _compiled(program, target, options, compiled)
    launch: dict[str, Json] = {
        "threads": launched_threads(program),
        "grid": [blocks_of(program)],
        "arguments": [*arguments_of(program), *(box.to_data() for box in tensor_maps(program))],
        **alignments_of(program),
        **({"cluster": [program.cluster, 1, 1]} if program.cluster is not None else {}),
        **launch_words(program),
        "resources": binary.resources[entry_name(program.name)].to_data(),
    }
    return Artifact(
        program.name,
        "kernel",
        target.name,
        entry_name(program.name),
        signature_of(program, {}),
        UNKNOWN,
        grid_of(program),
        shared,
        workspaces_of(program),
        launch,
        {SOURCE: text.encode(), f"{architecture}.cubin": binary.cubin},
    )


def _compiled(
    kernel: Kernel, target: Target, options: Options, compiled: dict[str, Binary]
) -> tuple[str, int, Binary]:
    """The text, its shared memory and machine code that keeps registers out of memory if it can.

    Left to itself the assembler may spill a few registers so that one more block fits beside the
    others. Then it is told that one block is enough, and takes all the registers that there are. Or it
    takes a few registers too many for a second block where one would be alone: it is told of two, and
    that is kept where nothing spills.
    """
    text, shared = _text(kernel, target, options)
    binary = _binary(kernel, text, target, options, compiled)
    used = binary.resources[entry_name(kernel.name)]
    blocks = None
    if used.spills and used.registers < _most_registers(kernel, target):
        blocks = 1
    elif _is_barely_alone(kernel, target, used.registers, shared):
        blocks = 2
    if blocks is not None:
        other, _ = _text(kernel, target, options, blocks)
        better = _binary(kernel, other, target, options, compiled)
        if not better.resources[entry_name(kernel.name)].spills:
            return other, shared, better
    return text, shared, binary


def _text(
    kernel: Kernel, target: Target, options: Options, blocks: int | None = None
) -> tuple[str, int]:
    """The text as the options want it, and its shared memory."""
    with line_marks() if options.source_lines else nullcontext():
        text, shared = emit(kernel, target, blocks=blocks)
    if options.trap_waits:
        text = with_trapping_waits(text)
    return (directed(text) if options.source_lines else text), shared


def _is_barely_alone(kernel: Kernel, target: Target, registers: int, shared: int) -> bool:
    """Whether a few registers of a thread are all that keeps a second block away."""
    rates = target.rates
    if rates is None or 2 * (shared + rates.reserved) > rates.shared_bytes:
        return False
    return 0 < registers - rates.registers // (2 * (kernel.threads or 1)) <= _FEW_REGISTERS


def _binary(
    kernel: Kernel, text: str, target: Target, options: Options, compiled: dict[str, Binary]
) -> Binary:
    if text not in compiled:
        architecture = architecture_of(target.name)
        compiled[text] = compile_cubin(text, architecture, options, f"{kernel.name}.cu")
    return compiled[text]


def _most_registers(kernel: Kernel, target: Target) -> int:
    """What a thread may have where its block is alone on a multiprocessor."""
    one = target.memory("register")
    most = one.bytes // 4 if one else 0
    rates = target.rates
    return most if rates is None else min(most, rates.registers // launched_threads(kernel))


def _lower_program(program: Program, target: Target, options: Options) -> Artifact:
    compiled: dict[str, Binary] = {}
    lowered = {k: _lower_kernel(k, target, options, compiled) for k in kernels_of(program)}
    return program_artifact(program, target, lowered, SOURCE, alignments_of(program))
