"""The tables of `dslc inspect` that count: bytes and operations of a launch, and the memory plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dslc.cli.tables.table import plain_table, size_text
from dslc.compiler.interpreter.dims import bind_dims
from dslc.compiler.ir import Kernel, Memory, Program, TileProgram
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Call
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.workload import Workload, extents, tensor_bytes, workload
from dslc.compiler.passes.memory.memory_plan import describe_plan

Sizes = Mapping[str, int]


def work_tables(program: TileProgram, sizes: Sizes) -> Iterator[str]:
    """Bytes of each tensor and operations of a launch; of a program, a line for each call."""
    if isinstance(program, Kernel):
        work = workload(program, sizes)
        yield _tensors(program, work, sizes)
        yield _operations(work)
        return
    total = Workload()
    rows = []
    for call in program.calls:
        work = workload(call.kernel, _sizes_of(program, call, sizes))
        total.add(work)
        moved = [size_text(sum(part.values())) for part in (work.loaded, work.stored)]
        rows.append((call.kernel.name, str(work.turns), *moved, f"{work.dot_operations:.4g}"))
    yield plain_table(("call", "turns", "loaded", "stored", "dot operations"), rows, (1, 2, 3, 4))
    yield _operations(total)


def operations_table(program: TileProgram, sizes: Sizes) -> str:
    """Turns, operations and bytes of a launch, all calls of a program together."""
    if isinstance(program, Kernel):
        return _operations(workload(program, sizes))
    total = Workload()
    for call in program.calls:
        total.add(workload(call.kernel, _sizes_of(program, call, sizes)))
    return _operations(total)


def plan_table(program: TileProgram) -> str:
    """Where the buffers of each kernel lie, as the memory plan has them; empty without buffers."""
    planned = [k for k in kernels(program) if any(isinstance(s, ins.Alloc) for s in walk(k.body))]
    return "\n\n".join(describe_plan(k).rstrip("\n") for k in planned)


def _sizes_of(program: Program, call: Call, sizes: Sizes) -> Sizes:
    """The dims of the called kernel, from the shapes that the program hands it."""
    shapes = {}
    for param, arg in zip(call.kernel.params, call.args, strict=True):
        if isinstance(arg, Memory):
            known = extents(arg, sizes)
            assert known is not None, f"{program.name}: a dim of {arg.name} has no size"
            shapes[param.name] = known
    return bind_dims(call.kernel.params, shapes)


def _tensors(kernel: Kernel, work: Workload, sizes: Sizes) -> str:
    rows = []
    for memory in (*kernel.tensors, *kernel.workspaces):
        once = tensor_bytes(memory, sizes)
        amounts = (once, work.loaded.get(memory.name, 0), work.stored.get(memory.name, 0))
        cells = ["?" if n is None else size_text(n) for n in amounts]
        rows.append((memory.name, str(memory.dtype), *cells))
    return plain_table(("tensor", "dtype", "once", "loaded", "stored"), rows, (2, 3, 4))


def _operations(work: Workload) -> str:
    about = "" if work.exact else "about "
    operations = work.dot_operations + work.other_operations
    moved = sum(work.loaded.values()) + sum(work.stored.values())
    rows = [("dot", f"{about}{work.dot_operations:.4g} operations")]
    rows.append(("other", f"{about}{work.other_operations:.4g} operations"))
    if work.turns:
        rows.insert(0, ("turns", f"{about}{work.turns}"))
    if moved:
        rows.append(("intensity", f"{about}{operations / moved:.4g} operations a byte moved"))
    return "\n".join(f"{name + ':':<14}{text}" for name, text in rows)
