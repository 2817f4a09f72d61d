"""Gathers from a tensor that does not fit on the chip read it panel after panel.

Before (tests/ir/gather-panels/example.tir):

    %y = gather @t[0 : +1, 0 : +64!], %ids, axes=(0) : f32[16, 64]

After, where 32 rows fit:

    %y = full f32(0) : f32[16, 64]
    alloc @t_panel: buffer f32[32, 64]
    %y_4 = for panel in range(0, 512, 32) carry (%y_1 : f32[16, 64] = %y) {
      %rows = load @t[panel : +32, 0 : +64!] : f32[32, 64]
      store @t_panel[0 : +32!, 0 : +64!], %rows
      %y_2 = gather @t_panel[0 - panel : +1, 0 : +64!], %ids, axes=(0) : f32[16, 64]
      ...
      %y_3 = where %inside_4, %y_2, %y_1 : f32[16, 64]
      yield %y_3
    }

A machine whose transfers are fixed before the launch cannot fetch the rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import AxisSlice, Kernel, Memory, Region, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.arithmetic.index_arithmetic import add, sub
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.indexed import first_id_axis
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.rewrite import Rewriter, fresh_name, map_kernels, scalar_names
from dslc.compiler.ir.traverse import memories, walk


@dataclass(frozen=True, slots=True)
class GatherPanels:
    """Gathers of tensors become loops over panels of `most` bytes."""

    most: int
    name: ClassVar[str] = "gather-panels"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose gathers are of memory on the chip."""
        return map_kernels(program, lambda k: _Panels(k, self.most).kernel(k))


class _Panels(Rewriter):
    def __init__(self, kernel: Kernel, most: int) -> None:
        super().__init__()
        self._most = most
        self._scalars = scalar_names(kernel)
        self._taken = {m.name for s in walk(kernel.body) for m in memories(s)}
        self._taken |= {p.name for p in kernel.params}

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement; of a gather of a tensor, a loop."""
        if not isinstance(stmt, ins.Gather) or stmt.region.memory.role is Role.BUFFER:
            return super().statement(stmt)
        memory = stmt.region.memory
        if len(stmt.axes) > 1:
            raise error(
                "DSL0590",
                f"the generator cannot gather along {len(stmt.axes)} axes of {memory.name}",
                stmt.loc,
                hint="load a block of it, and take elements of that tile by the index tiles",
            )
        extent = constant(memory.shape[stmt.axes[0]])
        if memory.dtype.is_low_bit or not isinstance(extent, int) or extent < 1:
            return super().statement(stmt)
        return self._looped(stmt, extent)

    def _looped(self, stmt: ins.Gather, extent: int) -> Iterator[Stmt]:
        out, loc, dtype = stmt.out, stmt.loc, stmt.out.type.dtype
        memory, axes, (axis,) = stmt.region.memory, stmt.region.axes, stmt.axes
        row = math.prod(a.size for a in axes) * max(1, dtype.bits // 8)
        count = min(extent, max(1, self._most // row))
        sizes = tuple(count if k == axis else a.size for k, a in enumerate(axes))
        panel = Memory(
            fresh_name(f"{memory.name}_panel", self._taken),
            dtype,
            tuple(map(ex.index, sizes)),
            Role.BUFFER,
            loc=memory.loc,
        )
        begin = Var(fresh_name("panel", self._scalars), INDEX)
        none, found, result = (Value(out.type, out.name) for _ in range(3))
        rows, here = Value(TileType(dtype, sizes), "rows"), Value(out.type, out.name)
        taken = tuple(
            AxisSlice(begin, count) if k == axis else replace(a, dropped=False)
            for k, a in enumerate(axes)
        )
        inner = tuple(
            replace(a, start=sub(a.start, begin))
            if k == axis
            else AxisSlice(ex.index(0), a.size, dropped=a.dropped, checked=False)
            for k, a in enumerate(axes)
        )
        whole = tuple(AxisSlice(ex.index(0), n, checked=False) for n in sizes)
        masks, inside = _inside(stmt, begin, count)
        body = (
            ins.Load(rows, Region(memory, taken), loc=loc),
            ins.Store(Region(panel, whole), rows, loc=loc),
            ins.Gather(here, Region(panel, inner), stmt.ids, stmt.axes, loc=loc),
            *masks,
            ins.Where(result, inside, here, found, loc=loc),
        )
        yield ins.Full(none, ex.Const(False if dtype == BOOL else 0, dtype), loc=loc)
        yield ins.Alloc(panel, loc=loc)
        yield ins.For(
            begin,
            ex.index(0),
            ex.index(extent),
            ex.index(count),
            body,
            (Carried(out, found, none, result),),
            loc=loc,
        )


def _inside(stmt: ins.Gather, begin: Expr, count: int) -> tuple[list[Stmt], Value]:
    """Which elements come from the panel that begins at `begin`."""
    out, ids, loc = stmt.out.type, stmt.ids[0].type, stmt.loc
    start = stmt.region.axes[stmt.axes[0]].start
    before, rank = first_id_axis(stmt.region, stmt.axes), len(ids.shape)
    shape = tuple(n if before <= k < before + rank else 1 for k, n in enumerate(out.shape))
    numbers, first, end = (Value(TileType(I32, ids.shape), n) for n in ("ids", "first", "end"))
    after, below, both = (Value(TileType(BOOL, ids.shape), "inside") for _ in range(3))
    column, wide = (Value(TileType(BOOL, s), "inside") for s in (shape, out.shape))
    low = sub(begin, start)
    statements: list[Stmt] = [
        ins.Cast(numbers, stmt.ids[0], saturate=True, loc=loc),
        ins.Full(first, ex.Convert(low, I32), loc=loc),
        ins.Full(end, ex.Convert(add(low, count), I32), loc=loc),
        ins.Binary(after, "ge", numbers, first, loc=loc),
        ins.Binary(below, "lt", numbers, end, loc=loc),
        ins.Binary(both, "and", after, below, loc=loc),
        ins.Reshape(column, both, loc=loc),
        ins.Broadcast(wide, column, loc=loc),
    ]
    return statements, wide
