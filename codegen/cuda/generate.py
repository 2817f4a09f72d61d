"""A scheduled kernel as one self-contained file of CUDA C."""

from __future__ import annotations

from math import prod

from dslc.codegen.c_family import (
    atomics,
    control,
    effects,
    elementwise,
    gathers,
    printing,
    reductions,
    remap,
    staging,
)
from dslc.codegen.c_family.ctypes_of import memory_bits, memory_type
from dslc.codegen.c_family.emission import Emission, table
from dslc.codegen.c_family.scalars import FLOAT_FUNCTIONS
from dslc.codegen.cuda import aside, bulk, casts, copies, ldmatrix, matrix, stmatrix, wgmma
from dslc.codegen.cuda.prelude import functions, used
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import GridAxis, Kernel, Memory, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant
from dslc.compiler.ir.traverse import walk
from dslc.compiler.targets import Target

EMITTERS = table(
    elementwise.EMITTERS, control.EMITTERS, stmatrix.EMITTERS, remap.EMITTERS,
    reductions.EMITTERS, effects.EMITTERS, atomics.EMITTERS, gathers.EMITTERS,
    printing.EMITTERS, staging.EMITTERS, matrix.EMITTERS, casts.EMITTERS, copies.EMITTERS,
    ldmatrix.EMITTERS, wgmma.EMITTERS, bulk.EMITTERS,
)  # fmt: skip

# Words that CUDA gives a meaning, beside those of C.
_CUDA = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "min", "max", "abs", "fma", "printf",
    *(f"{name}{suffix}" for name in FLOAT_FUNCTIONS for suffix in ("", "f")), "DEVICE", "TensorMap",
)  # fmt: skip


def emit(kernel: Kernel, target: Target, blocks: int | None = None) -> tuple[str, int]:
    """The text of a kernel, and the bytes of shared memory that a block of it needs.

    `blocks` of it shall fit on a multiprocessor; None leaves that to the assembler. DSL0501 where
    buffers and exchanges between threads together need more shared memory than there is.
    """
    assert kernel.threads is not None, "layouts are assigned before a kernel is emitted"
    e = Emission(kernel, EMITTERS, kernel.threads, target)
    e.out.reserve([*functions(), *_CUDA])
    e.in_place = wgmma.in_place(kernel)
    params = _parameters(e)
    shared = _shared(e)
    e.head.line("const int tid = threadIdx.x;")
    _turn(e)
    aside.body(e)
    scratch_at = -(-shared // 16) * 16
    if e.scratch_bytes:
        e.head.line(f"unsigned char* const scratch = shared + {scratch_at};")
    total = scratch_at + e.scratch_bytes if e.scratch_bytes else shared
    _check_shared(kernel, target, total, shared)
    body = e.head.text() + e.out.text()
    return _file(kernel, params, body, total, blocks), total


def _check_shared(kernel: Kernel, target: Target, total: int, buffers: int) -> None:
    most = target.memory("shared")
    if most is None or total <= most.bytes:
        return
    raise error(
        "DSL0501",
        f"kernel {kernel.name} needs {total} bytes of shared memory at one time: {buffers} for its "
        f"buffers and {total - buffers} for exchanges between threads",
        kernel.loc,
        hint=f"the machine has {most.bytes}: smaller tiles or fewer stages need less",
    )


def _parameters(e: Emission) -> list[str]:
    """Tensors as pointers, dims as int, scalars by value, workspaces, tensor maps."""
    found = []
    for param in e.kernel.params:
        if isinstance(param, Memory):
            found.append(_pointer(e, param))
        else:
            head = e.declare(param)
            found.append(head)
    for dim in e.kernel.dims:
        found.append(e.declare(dim))
    found += [_pointer(e, w) for w in e.kernel.workspaces]
    e.sent = bulk.sent_from(e.kernel)
    for box in bulk.tensor_maps(e.kernel):
        e.maps[box] = e.out.name(f"{box.memory.name}_map")
        found.append(f"const __grid_constant__ TensorMap {e.maps[box]}")
    return found


def _pointer(e: Emission, memory: Memory) -> str:
    name = e.out.name(memory.name)
    e.memories[memory] = name
    const = "const " if memory.role is Role.IN else ""
    return f"{const}{memory_type(memory.dtype)}* __restrict__ {name}"


def _shared(e: Emission) -> int:
    """Where every buffer lies in shared memory; gives the bytes in all."""
    total = 0
    for statement in walk(e.kernel.body):
        if not isinstance(statement, ins.Alloc) or statement.memory in e.memories:
            continue
        memory = statement.memory
        extents = [constant(x) for x in memory.shape]
        size = prod(int(x or 0) for x in extents) * memory_bits(memory.dtype) // 8
        offset = memory.offset if memory.offset is not None else -(-total // 16) * 16
        name = e.out.name(memory.name)
        ctype = memory_type(memory.dtype)
        e.head.line(f"{ctype}* const {name} = ({ctype}*)(shared + {offset});")
        e.memories[memory] = name
        total = max(total, offset + size)
    return total


def _turn(e: Emission) -> None:
    """The variables of the grid from the block's number, the last axis fastest, or in strips.

    A grid has less than 2^31 blocks, so that products of its extents fit in an int.
    """
    axes = e.kernel.grid
    if not axes:
        return
    strips = e.kernel.strips if len(axes) > 1 else None
    counts = [_count(e, axis) for axis in axes]
    const = "" if len(axes) > 1 else "const "
    e.head.line(f"{const}int turn = blockIdx.x;")
    digits: dict[int, str] = {}
    if strips is not None:
        high, across = counts[-2:]
        rows, columns, inside = (e.head.name(n) for n in ("rows", "columns", "inside"))
        e.head.line(f"const int {rows} = {high}, {columns} = {across};")
        e.head.line(f"int {inside} = turn % ({rows} * {columns});")
        first, height = e.head.name("first"), e.head.name("height")
        strip = e.scalar(strips)
        if constant(strips) is None:
            text, strip = strip, e.head.name("strip")
            e.head.line(f"const int {strip} = (int)({text});")
        area = f"(min({strip}, {rows}) * {columns})"
        e.head.line(f"const int {first} = {inside} / {area} * {strip};")
        e.head.line(f"const int {height} = min({rows} - {first}, {strip});")
        e.head.line(f"{inside} -= {first} * {columns};")
        digits = {
            len(axes) - 2: f"({first} + {inside} % {height})",
            len(axes) - 1: f"({inside} / {height})",
        }
        e.head.line(f"turn /= {rows} * {columns};")
    for k, axis in reversed(list(enumerate(axes))):
        count = counts[k]
        digit = digits.get(k) or ("turn" if k == 0 else f"turn % {count}")
        if axis.reversed:
            digit = f"({count} - 1 - {digit})"
        wide = e.is_product(axis.stop)
        value = f"(long long)({digit})" if wide else digit
        value = value if axis.step == ex.index(1) else f"({value}) * {e.scalar(axis.step)}"
        if axis.start != ex.index(0):
            value = f"{e.scalar(axis.start)} + {value}"
        head = e.declare(axis.var, wide=wide)
        e.head.line(f"const {head} = {'' if wide else '(int)'}({value});")
        if k and k not in digits:
            e.head.line(f"turn /= {count};")


def _count(e: Emission, axis: GridAxis) -> str:
    """How many turns an axis has."""
    count = e.scalar(axis.stop)
    if axis.start != ex.index(0):
        count = f"({count} - {e.scalar(axis.start)})"
    if axis.step == ex.index(1):
        return count
    step = e.scalar(axis.step)
    return f"(({count} + {step} - 1) / {step})"


def _file(kernel: Kernel, params: list[str], body: str, shared: int, blocks: int | None) -> str:
    doc = "".join(f"// {line}\n" for line in (kernel.doc or "").splitlines())
    signature = ",\n    ".join(params)
    uses = "  extern __shared__ __align__(1024) unsigned char shared[];\n" if shared else ""
    needed = used(body)
    threads = aside.launched_threads(kernel)
    # Registers are handed on where the assembler knows how many a thread begins with.
    blocks = 1 if aside.aside_of(kernel) is not None else blocks
    bounds = f"{threads}" if blocks is None else f"{threads}, {blocks}"
    vectors = "#define DEVICE static __device__ __forceinline__\n\n"
    if "TensorMap" in signature:
        vectors += bulk.TENSOR_MAP
    return (
        f"// {kernel.name}: one turn of its grid is one block of {threads} threads.\n{doc}\n"
        f"{vectors}{needed}\n\n"
        f'extern "C" __global__ void __launch_bounds__({bounds})\n'
        f"{kernel.name}(\n    {signature}) {{\n{uses}{body}}}\n"
    )


def check(kernel: Kernel) -> None:
    """Refuse what this machine cannot run."""
    if kernel.threads is None or aside.launched_threads(kernel) > 1024:
        raise error(
            "DSL0590", f"a block has at most 1024 threads, not {kernel.threads}", kernel.loc
        )
