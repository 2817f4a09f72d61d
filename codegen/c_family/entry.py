"""The beginning of a kernel's text: its parameters, its shared memory, the variables of its turn."""

from __future__ import annotations

from math import prod

from dslc.codegen.c_family.ctypes_of import memory_bits, memory_type
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.exchanges.exchange_memory import Exchanges
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import GridAxis, Memory, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import walk


def parameters(e: Emission) -> list[str]:
    """Tensors as pointers, scalars by value, dims as int, workspaces."""
    declared = []
    for param in e.kernel.params:
        declared.append(_pointer(e, param) if isinstance(param, Memory) else e.declare(param))
    declared += [e.declare(dim) for dim in e.kernel.dims]
    return declared + [_pointer(e, w) for w in e.kernel.workspaces]


def _pointer(e: Emission, memory: Memory) -> str:
    name = e.out.name(memory.name)
    e.memories[memory] = name
    const = "const " if memory.role is Role.IN else ""
    return f"{const}{memory_type(memory.dtype)}* __restrict__ {name}"


def shared_memory(e: Emission) -> int:
    """Where every buffer lies in shared memory; gives the bytes in all."""
    total, places = 0, dict[Memory, tuple[int, int]]()
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
        places[memory] = offset, size
        total = max(total, offset + size)
    e.exchanges = Exchanges.beside(e.kernel, places)
    return total


def all_shared_memory(e: Emission, buffers: int) -> int:
    """Declare where exchanges lie, once all are emitted; gives the bytes in all.

    DSL0501 where these and the `buffers` together need more shared memory than there is.
    """
    for line in e.exchanges.lines():
        e.head.line(line)
    total, most = e.exchanges.bytes, e.target.memory("shared")
    if most is not None and total > most.bytes:
        raise error(
            "DSL0501",
            f"kernel {e.kernel.name} needs {total} bytes of shared memory at one time: {buffers} for "
            f"its buffers and {total - buffers} for exchanges between threads",
            e.kernel.loc,
            hint=f"{e.target.name} has {most.bytes}: smaller tiles or fewer stages need less",
        )
    return total


def turn_variables(e: Emission) -> None:
    """The variables of the grid from the block's number, the last axis fastest, or in groups of rows.

    A grid has less than 2^31 blocks, so that products of its extents fit in an int.
    """
    axes = e.kernel.grid
    if not axes:
        return
    group = e.kernel.rasterization if len(axes) > 1 else None
    counts = [_count(e, axis) for axis in axes]
    const = "" if len(axes) > 1 else "const "
    e.head.line(f"{const}int turn = blockIdx.x;")
    digits: dict[int, str] = {}
    if group is not None:
        high, across = counts[-2:]
        rows, columns, inside = (e.head.name(n) for n in ("rows", "columns", "inside"))
        e.head.line(f"const int {rows} = {high}, {columns} = {across};")
        e.head.line(f"int {inside} = turn % ({rows} * {columns});")
        first, height = e.head.name("first"), e.head.name("height")
        strip = e.scalar(group)
        if constant(group) is None:
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
