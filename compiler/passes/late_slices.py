"""Slices that begin at a number from a tile become rows by number, each of which is moved or left out.

Before, where the slice may reach past the end of the tensor:

    %row = load @x[read(%t) : +4, 0 : +8] : f32[4, 8]

After:

    %ids = arange : i32[4]
    %row = gather @x[read(%t) : +1, 0 : +8], %ids, axis=0 : f32[4, 8]

A transfer has no clip that the machine computes, while each row of a gather is moved or left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.dtypes import I32
from dslc.compiler.ir import Kernel, Region, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Name, values_in
from dslc.compiler.passes.late_scalars import late_scalars


@dataclass(frozen=True, slots=True)
class LateSlices:
    """Loads and stores along one late axis that is checked, as gathers and scatters.

    An atomic addition is a load and a store here: one core runs all turns, one after another.
    With `every` also along one that is not checked: on machines that move no slice which only they
    know. Scalars of the caller are known to them alone.
    """

    every: bool = False
    name: ClassVar[str] = "late-slices"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with no slice that only the machine could clip, where rows do."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        late = late_scalars(kernel.body)
        if self.every:
            late |= {p for p in kernel.params if isinstance(p, ex.Var)}
        return _Rows(late, self.every).kernel(kernel)


class _Rows(Rewriter):
    def __init__(self, late: set[Name], every: bool) -> None:
        super().__init__()
        self._late, self._every = late, every

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A gather or scatter in place of the load or store."""
        match stmt:
            case ins.Load(out=out, region=region, other=other) if _is_zero(other):
                axis = self._axis(region)
                if axis is not None:
                    ids, rows, shape = _by_rows(region, axis)
                    made = Value(replace(out.type, shape=shape), out.name)
                    gather = ins.Gather(made, rows, ids, axis, loc=stmt.loc)
                    return ins.Arange(ids), gather, ins.Reshape(out, made)
            case ins.Store(region=region, x=x):
                axis = self._axis(region)
                if axis is not None:
                    ids, rows, shape = _by_rows(region, axis)
                    made = Value(replace(x.type, shape=shape), x.name)
                    scatter = ins.Scatter(rows, ids, made, axis, loc=stmt.loc)
                    return ins.Arange(ids), ins.Reshape(made, x), scatter
            case ins.AtomicAdd(region=region, x=x, out=out) if self._axis(region) is not None:
                before = out or Value(x.type, "before")
                after = Value(x.type, "after")
                return (
                    *self.statement(ins.Load(before, region, loc=stmt.loc)),
                    ins.Binary(after, "add", before, x, loc=stmt.loc),
                    *self.statement(ins.Store(region, after, loc=stmt.loc)),
                )
        return super().statement(stmt)

    def _axis(self, region: Region) -> int | None:
        """The one axis that only the machine could clip; None where there is none, or no rows."""
        late = [k for k, a in enumerate(region.axes) if self._is_late(a.start)]
        found = [k for k in late if self._every or region.axes[k].checked]
        if region.memory.role is Role.BUFFER and self._every:
            return None
        if len(found) != 1 or region.memory.dtype.is_low_bit or region.axes[found[0]].step != 1:
            return None
        return found[0]

    def _is_late(self, expr: ex.Expr) -> bool:
        return any(True for _ in values_in(expr)) or not self._late.isdisjoint(ex.free_vars(expr))


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
