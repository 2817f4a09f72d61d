"""Slices that begin at a number from a tile become gathers; rows out of bounds are left out.

Before (tests/ir/dynamic-slices/example.tir), where the slice may reach past the end of the tensor:

    %t = load @t[0!] : i32[]
    %row = load @x[cast(read(%t), index) : +4, 0 : +8!] : f32[4, 8]

After:

    %t = load @t[0!] : i32[]
    %rows = arange : i32[4]
    %row = gather @x[cast(read(%t), index) : +1, 0 : +8!], %rows, axes=(0) : f32[4, 8]

A transfer has no clip that the machine computes, while each row of a gather is moved or left. Where
several axes begin so, rows go along one; they lie past its end where another axis, of one element, is
out of range, and that begins within its own (tests/ir/dynamic-slices/two_axes.tir):

    %row = load @x[cast(read(%s), index), cast(read(%t), index), 0 : +8!] : f32[8]

    %row = gather @x[select(..., cast(read(%s), index), 9) : +1, max(...)!, 0 : +8!], %rows, ...

Dynamic is as well what is computed from the counter of a loop that only the machine can bound, but for
the counter itself and a sum with it: there are registers for these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import Kernel, Region, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import largest, least, select, sub
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Name, walk
from dslc.compiler.passes.dynamic_values.dynamic_scalars import dynamic_scalars, is_dynamic


@dataclass(frozen=True, slots=True)
class DynamicSlices:
    """Loads and stores along one dynamic axis that is checked, as gathers and scatters.

    An atomic addition is a load and a store here: one core runs all turns, one after another.
    With `every` also along one that is not checked: on machines that move no slice which only they
    know. Scalars of the caller are known to them alone.
    """

    every: bool = False
    name: ClassVar[str] = "dynamic-slices"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with no slice that only the machine could clip, where rows do."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        dynamic = dynamic_scalars(kernel.body)
        if self.every:
            dynamic |= {p for p in kernel.params if isinstance(p, ex.Var)}
        counters = set() if self.every else _dynamic_counters(kernel, dynamic)
        return _Rows(dynamic, counters, self.every).kernel(kernel)


def _dynamic_counters(kernel: Kernel, dynamic: set[Name]) -> set[ex.Var]:
    """The counters of loops that only the machine can bound."""
    loops = [s for s in walk(kernel.body) if isinstance(s, ins.For)]
    return {s.var for s in loops if any(is_dynamic(x, dynamic) for x in (s.start, s.stop, s.step))}


def is_counted(start: ex.Expr, counters: Collection[ex.Var]) -> bool:
    """Whether a start is a counter, and what is known besides: its register may begin a slice."""
    mine = [v for v in ex.free_vars(start) if v in counters]
    if len(mine) > 1:
        return False
    if any(isinstance(n, ex.Read) for n in ex.walk(start)) or any(v.dtype != INDEX for v in mine):
        return False
    rest = start
    for v in mine:
        rest = sub(rest, v)
    return not any(v in counters for v in ex.free_vars(simplify(rest)))


class _Rows(Rewriter):
    def __init__(self, dynamic: set[Name], counters: set[ex.Var], every: bool) -> None:
        super().__init__()
        self._dynamic, self._counters, self._every = dynamic, counters, every

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A gather or scatter in place of the load or store."""
        match stmt:
            case ins.Load(out=out, region=region, other=other) if _is_zero(other):
                axis = self._axis(region)
                if axis is not None:
                    ids, rows, shape = _by_rows(self._others_within(region, axis), axis)
                    gathered = Value(replace(out.type, shape=shape), out.name)
                    gather = ins.Gather(gathered, rows, (ids,), (axis,), loc=stmt.loc)
                    return ins.Arange(ids), gather, ins.Reshape(out, gathered)
            case ins.Store(region=region, x=x, where=None):
                axis = self._axis(region)
                if axis is not None:
                    ids, rows, shape = _by_rows(self._others_within(region, axis), axis)
                    gathered = Value(replace(x.type, shape=shape), x.name)
                    scatter = ins.Scatter(rows, gathered, (ids,), (axis,), loc=stmt.loc)
                    return ins.Arange(ids), ins.Reshape(gathered, x), scatter
            case ins.AtomicRmw(op="add", region=region, x=x, ids=(), out=out) if (
                self._axis(region) is not None
            ):
                before = out or Value(x.type, "before")
                after = Value(x.type, "after")
                return (
                    *self.statement(ins.Load(before, region, loc=stmt.loc)),
                    ins.Binary(after, "add", before, x, loc=stmt.loc),
                    *self.statement(ins.Store(region, after, loc=stmt.loc)),
                )
        return super().statement(stmt)

    def _axis(self, region: Region) -> int | None:
        """The axis along which rows go; None where only the machine clips none, or several of rows."""
        clipped = self._clipped(region)
        if region.memory.role is Role.BUFFER and self._every:
            return None
        many = [k for k in clipped if self._every or region.axes[k].size > 1]
        if not clipped or len(many) > 1 or region.memory.dtype.is_low_bit:
            return None
        axis = many[0] if many else clipped[0]
        return axis if region.axes[axis].step == 1 else None

    def _clipped(self, region: Region) -> list[int]:
        """The axes that only the machine could clip."""
        dynamic = [k for k, a in enumerate(region.axes) if self._is_dynamic(a.start)]
        return [k for k in dynamic if self._every or region.axes[k].checked]

    def _is_dynamic(self, expr: ex.Expr) -> bool:
        if is_dynamic(expr, self._dynamic):
            return True
        counted = not self._counters.isdisjoint(ex.free_vars(expr))
        return counted and not is_counted(expr, self._counters)

    def _others_within(self, region: Region, axis: int) -> Region:
        """The region that reaches out along that axis alone: also where another one does."""
        axes = list(region.axes)
        for k in self._clipped(region):
            if k == axis:
                continue
            start, extent = axes[k].start, region.memory.shape[k]
            within = ex.Binary(
                "and",
                ex.Binary("ge", start, ex.index(0), BOOL),
                ex.Binary("lt", start, extent, BOOL),
                BOOL,
            )
            kept = largest(least(start, sub(extent, 1)), 0)
            axes[k] = replace(axes[k], start=kept, checked=False)
            first = select(within, axes[axis].start, region.memory.shape[axis])
            axes[axis] = replace(axes[axis], start=first)
        return replace(region, axes=tuple(axes))


def _by_rows(region: Region, axis: int) -> tuple[Value, Region, tuple[int, ...]]:
    """The numbers of the rows, the region with a placeholder there, and the shape with that axis."""
    axes = list(region.axes)
    ids = Value(TileType(I32, (axes[axis].size,)), "rows")
    kept = replace(axes[axis], dropped=False)
    shape = tuple(a.size for a in (*axes[:axis], kept, *axes[axis + 1 :]) if not a.dropped)
    axes[axis] = replace(kept, size=1)
    return ids, replace(region, axes=tuple(axes)), shape


def _is_zero(other: ex.Expr | None) -> bool:
    return other is None or constant(other) == 0
