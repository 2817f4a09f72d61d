"""Which outputs a kernel is sure to write whole; the others begin as what the caller passed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Kernel, Memory, Program, Region, Role, TileProgram
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Param
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, memories, walk
from dslc.compiler.ir.workload import range_of


class _Apart(Rewriter):
    """Stores to some memories go to others."""

    def __init__(self, given: Mapping[Memory, Memory], made: Mapping[Memory, Memory]) -> None:
        super().__init__()
        self._given, self._made = given, made

    def memory(self, memory: Memory) -> Memory:
        """What the caller passed."""
        return self._given.get(memory, memory)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A store into what is given back."""
        if isinstance(stmt, ins.Store) and stmt.region.memory in self._made:
            made = self._made[stmt.region.memory]
            return (replace(stmt, region=replace(stmt.region, memory=made)),)
        return super().statement(stmt)


def apart(kernel: Kernel) -> Kernel:
    """Tensors that are read and written as two, where a turn has read before it writes.

    Turns do not see what others write, so that loads are of what the caller passed. The result needs
    no copy of it to begin with, for which the first loads would wait.
    """
    whole = written_whole(kernel)
    given: dict[Memory, Memory] = {}
    made: dict[Memory, Memory] = {}
    params: list[Param] = []
    for param in kernel.params:
        alone = isinstance(param, Memory) and param.role is Role.INOUT and param in whole
        if isinstance(param, Memory) and alone and _is_read_first(param, kernel.body):
            given[param] = replace(param, role=Role.IN)
            made[param] = replace(param, role=Role.OUT)
            params += (given[param], made[param])
        else:
            params.append(param)
    if not given:
        return kernel
    return replace(kernel, params=tuple(params), body=_Apart(given, made).body(kernel.body))


def _is_read_first(memory: Memory, body: Body) -> bool:
    """Whether nothing but loads and stores has to do with it, and no load can follow a store."""
    stored = False
    for stmt in body:
        inner = [s for s in walk((stmt,)) if memory in memories(s)]
        if not all(isinstance(s, ins.Load | ins.Store) for s in inner):
            return False
        loads = any(isinstance(s, ins.Load) for s in inner)
        stores = any(isinstance(s, ins.Store) for s in inner)
        if loads and (stored or stores):
            return False
        stored |= stores
    return stored


Loops = dict[ex.Var, tuple[ex.Expr, ex.Expr, ex.Expr]]
Parts = defaultdict[tuple[Memory, int], list[tuple[int, int]]]
"""Of an axis of a memory, from where to where stores write."""


def written_whole(program: TileProgram) -> set[Memory]:
    """The memories that some store covers with its loops, from the start of each axis to its end."""
    if isinstance(program, Kernel):
        loops = {a.var: (a.start, a.stop, a.step) for a in program.grid}
        parts: Parts = defaultdict(list)
        return _covered(program.body, loops, parts) | _from_parts(parts)
    assert isinstance(program, Program)
    whole: set[Memory] = set()
    for call in (c for c in program.calls if c.when is None):
        mine = written_whole(call.kernel)
        for param, arg in zip(call.kernel.params, call.args, strict=True):
            if isinstance(param, Memory) and isinstance(arg, Memory) and param in mine:
                whole.add(arg)
    return whole


def _covered(body: Body, loops: Loops, parts: Parts) -> set[Memory]:
    covered: set[Memory] = set()
    for region in _joined([s.region for s in body if isinstance(s, ins.Store)]):
        if _covers(region, loops):
            covered.add(region.memory)
        else:
            _note_part(region, loops, parts)
    for stmt in body:
        if isinstance(stmt, ins.For):
            inner = {**loops, stmt.var: (stmt.start, stmt.stop, stmt.step)}
            covered |= _covered(stmt.body, inner, parts)
    return covered


def _note_part(region: Region, loops: Loops, parts: Parts) -> None:
    """Note what a store covers of one axis, where it covers all others."""
    pairs = list(zip(region.axes, region.memory.shape, strict=True))
    rest = [k for k, (axis, extent) in enumerate(pairs) if not _covers_axis(axis, extent, loops)]
    if len(rest) != 1 or region.axes[rest[0]].step != 1:
        return
    axis = region.axes[rest[0]]
    others = {v for k, a in enumerate(region.axes) if k != rest[0] for v in ex.free_vars(a.start)}
    counters = set(ex.free_vars(axis.start))
    if len(counters) > 1 or counters & others or not counters <= loops.keys():
        return
    counts = [range_of(*loops[v]) for v in counters]
    for number in range(1) if not counts else counts[0] or ():
        known: dict[ex.Var, ex.Expr] = dict.fromkeys(counters, ex.index(number))
        start = constant(ex.substitute(axis.start, known))
        if start is not None:
            parts[region.memory, rest[0]].append((int(start), int(start) + axis.size))


def _from_parts(parts: Parts) -> set[Memory]:
    """The memories that stores cover one behind another along an axis, as stages of turns do."""
    covered: set[Memory] = set()
    for (memory, axis), found in parts.items():
        end = 0
        for start, stop in sorted(found):
            end = max(end, stop) if start <= end else end
        extent = constant(memory.shape[axis])
        if extent is not None and end >= extent:
            covered.add(memory)
    return covered


def _joined(regions: list[Region]) -> list[Region]:
    """The regions, those that continue the one before along an axis as one with it."""
    joined: list[Region] = []
    for region in regions:
        longer = _continued(joined[-1], region) if joined else None
        if longer is not None:
            joined[-1] = longer
        else:
            joined.append(region)
    return joined


def _continued(first: Region, second: Region) -> Region | None:
    """Both regions as one, where the second begins at the end of the first along one axis."""
    if first.memory is not second.memory:
        return None
    axes = list(first.axes)
    apart = [k for k, (a, b) in enumerate(zip(axes, second.axes, strict=True)) if a != b]
    if len(apart) != 1:
        return None
    a, b = axes[apart[0]], second.axes[apart[0]]
    if a.step != 1 or constant(ex.Binary("sub", b.start, a.start, INDEX)) != a.size:
        return None
    axes[apart[0]] = replace(a, size=a.size + b.size)
    return replace(first, axes=tuple(axes)) if b.step == 1 and not b.dropped else None


def _covers(region: Region, loops: Loops) -> bool:
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
