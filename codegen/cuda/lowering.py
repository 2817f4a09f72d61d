"""From a scheduled kernel to an artifact: CUDA C, machine code, and how it is launched."""

from __future__ import annotations

from dslc.codegen.calls import bytes_of, call_arguments
from dslc.codegen.cuda.aside import launched_threads
from dslc.codegen.cuda.bulk import tensor_maps
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.toolchain import (
    DEFAULT,
    Binary,
    Options,
    architecture_of,
    compile_cubin,
)
from dslc.compiler.artifact import Artifact, Hashes, Json
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Kernel, Memory, Program, TileProgram
from dslc.compiler.ir.rewrite import kernels as kernels_of
from dslc.compiler.manifest import grid_of, signature_of, workspaces_of
from dslc.compiler.targets import Target

SOURCE = "kernel.cu"
_FEW_REGISTERS = 4
_UNKNOWN = Hashes("", "", "", "")  # whoever builds knows what it was made of


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
        "grid": [_blocks(program)],
        "arguments": _arguments(program),
        **_alignments(program),
        "resources": binary.resources[program.name].to_data(),
    }
    return Artifact(
        program.name,
        "kernel",
        target.name,
        program.name,
        signature_of(program, {}),
        _UNKNOWN,
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
    text, shared = emit(kernel, target)
    binary = _binary(kernel, text, target, options, compiled)
    used = binary.resources[kernel.name]
    blocks = None
    if used.spills and used.registers < _most_registers(kernel, target):
        blocks = 1
    elif _is_barely_alone(kernel, target, used.registers, shared):
        blocks = 2
    if blocks is not None:
        other, _ = emit(kernel, target, blocks=blocks)
        better = _binary(kernel, other, target, options, compiled)
        if not better.resources[kernel.name].spills:
            return other, shared, better
    return text, shared, binary


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
    kernels: dict[tuple[object, ...], tuple[int, Artifact]] = {}
    calls: list[Json] = []
    for call in program.calls:
        made = lowered[call.kernel]
        same = (made.files[SOURCE], repr(made.signature))
        number, _ = kernels.setdefault(same, (len(kernels), made))
        calls.append({"kernel": number, **call_arguments(program, call)})
    made_of = dict(kernels.values())
    buffers = [{"name": b.name, "bytes": bytes_of(b)} for b in program.buffers]
    return Artifact(
        program.name,
        "program",
        target.name,
        program.name,
        signature_of(program, {}),
        _UNKNOWN,
        launch={
            "buffers": buffers,
            "kernels": [made.to_manifest() for made in made_of.values()],
            "calls": calls,
            **_alignments(program),
        },
        files={
            f"{number}.{name}": content
            for number, made in made_of.items()
            for name, content in made.files.items()
        },
    )


def _blocks(kernel: Kernel) -> str:
    """All turns of the grid along x."""
    return " * ".join(f"({extent})" for extent in grid_of(kernel)) or "1"


def _alignments(program: TileProgram) -> dict[str, Json]:
    """The tensors that begin at multiples of fewer bytes than usual, if there are any."""
    tensors = [p for p in program.params if isinstance(p, Memory)]
    found = {m.name: m.align for m in tensors if m.align is not None}
    return {"alignments": found} if found else {}


def _arguments(kernel: Kernel) -> list[Json]:
    """The C parameters in order: the kernel's, its dims, its workspaces, its tensor maps."""
    found: list[Json] = []
    for param in kernel.params:
        if isinstance(param, Memory):
            found.append({"kind": "tensor", "name": param.name})
        else:
            found.append({"kind": "scalar", "name": param.name, "type": _ctype(param.dtype)})
    found += [{"kind": "value", "value": d.name, "type": "i32"} for d in kernel.dims]
    found += [{"kind": "workspace", "name": w.name} for w in kernel.workspaces]
    found += [box.to_data() for box in tensor_maps(kernel)]
    return found


def _ctype(dtype: DType) -> str:
    """How a scalar travels: narrow integers as 32 bits, narrow floats as f32."""
    if dtype.kind is Kind.INDEX:
        return "i32"
    if dtype.kind is Kind.BOOL or dtype.bits >= 32:
        return "f32" if dtype.name == "tf32" else dtype.name
    if dtype.is_float:
        return "f32"
    return "i32" if dtype.is_signed else "u32"
