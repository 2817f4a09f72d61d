"""Which outputs a kernel is sure to write whole; the others begin as what the caller passed."""

from __future__ import annotations

from dslc.compiler.ir import AxisSlice, Kernel, Memory, Program, TileProgram
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant
from dslc.compiler.ir.traverse import Body

Loops = dict[ex.Var, tuple[ex.Expr, ex.Expr, ex.Expr]]


def written_whole(program: TileProgram) -> set[Memory]:
    """The memories that some store covers with its loops, from the start of each axis to its end."""
    if isinstance(program, Kernel):
        loops = {a.var: (a.start, a.stop, a.step) for a in program.grid}
        return _covered(program.body, loops)
    assert isinstance(program, Program)
    found: set[Memory] = set()
    for call in program.calls:
        mine = written_whole(call.kernel)
        for param, arg in zip(call.kernel.params, call.args, strict=True):
            if isinstance(param, Memory) and isinstance(arg, Memory) and param in mine:
                found.add(arg)
    return found


def _covered(body: Body, loops: Loops) -> set[Memory]:
    found: set[Memory] = set()
    for stmt in body:
        if isinstance(stmt, ins.Store) and _covers(stmt, loops):
            found.add(stmt.region.memory)
        if isinstance(stmt, ins.For):
            found |= _covered(stmt.body, {**loops, stmt.var: (stmt.start, stmt.stop, stmt.step)})
    return found


def _covers(store: ins.Store, loops: Loops) -> bool:
    region = store.region
    starts = [a.start for a in region.axes if isinstance(a.start, ex.Var)]
    if len(set(starts)) != len(starts):
        return False
    pairs = zip(region.axes, region.memory.shape, strict=True)
    return all(_covers_axis(axis, extent, loops) for axis, extent in pairs)


def _covers_axis(axis: AxisSlice, extent: ex.Expr, loops: Loops) -> bool:
    if axis.step != 1:
        return False
    if constant(axis.start) == 0:
        size = constant(extent)
        return size is not None and axis.size >= size
    if not isinstance(axis.start, ex.Var) or axis.start not in loops:
        return False
    first, stop, step = loops[axis.start]
    width = constant(step)
    return constant(first) == 0 and stop == extent and width is not None and width <= axis.size
