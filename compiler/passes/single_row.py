"""A turn whose products have one row that matters does that row alone.

Before, for a tile of 16 rows of which the stores keep those before M:

    %acc = dot %a, %b : f32[16, 128]          %a: f16[16, 64]
    store @c[m : +16, n : +128], %acc

After:

    if M - m == 1 {
      %acc = dot %a, %b : f32[1, 128]         %a: f16[1, 64]
      store @c[m : +1, n : +128], %acc
    } else {
      ... as before
    }

A single row reads each weight once: what a generator does for it is nothing like what it does for many.
Decoding in language models is such a product. The rows are found by `axis_extents`: axes that have one
coordinate throughout the turn and along which the stores drop what lies past one end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import AxisSlice, Kernel, Region, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, clone_body, map_kernels, scalar_names
from dslc.compiler.ir.traverse import Name, walk
from dslc.compiler.passes.axis_extents import Axis, classes_of


@dataclass(frozen=True, slots=True)
class SingleRow:
    """Gives kernels of products a body for turns of one row."""

    name: ClassVar[str] = "single-row"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with both bodies where there is something to choose."""
        return map_kernels(program, _choose)


def _choose(kernel: Kernel) -> Kernel:
    classes = classes_of(kernel)
    ends = classes.extents()
    for stmt in walk(kernel.body):
        if not isinstance(stmt, ins.Dot):
            continue
        rows = (stmt.out, stmt.out.type.rank - 2)
        if rows not in ends or stmt.out.type.shape[-2] == 1:
            continue
        members = classes.members(rows)
        if any(value.type.layout is not None for value, _ in members):
            continue
        short = _Resized(members).body(kernel.body)
        copy, _ = clone_body(short, scalar_names(kernel))
        one = ex.Binary("eq", ends[rows], ex.index(1), BOOL)
        return replace(kernel, body=(ins.If(one, copy, kernel.body, loc=kernel.loc),))
    return kernel


class _Resized(Rewriter):
    """Tiles with one element along some axes, and what is read and written of memories likewise."""

    def __init__(self, axes: Iterable[Axis]) -> None:
        super().__init__()
        self._axes: dict[Value, set[int]] = {}
        for value, axis in axes:
            self._axes.setdefault(value, set()).add(axis)
        self._made: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """The tile of the new shape."""
        if value not in self._axes:
            return value
        if value not in self._made:
            along = self._axes[value]
            shape = tuple(1 if k in along else n for k, n in enumerate(value.type.shape))
            self._made[value] = replace(value, type=replace(value.type, shape=shape))
        return self._made[value]

    def define(self, name: Name) -> Name:
        """The same where it is defined."""
        return self.value(name) if isinstance(name, Value) else name

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A load or store of so much less."""
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, ins.Load):
            region = _shortened(rebuilt.region, rebuilt.out)
            return (rebuilt if region == rebuilt.region else replace(rebuilt, region=region),)
        if isinstance(rebuilt, ins.Store):
            region = _shortened(rebuilt.region, rebuilt.x)
            return (rebuilt if region == rebuilt.region else replace(rebuilt, region=region),)
        return (rebuilt,)


def _shortened(region: Region, tile: Value) -> Region:
    sizes = iter(tile.type.shape)
    axes: list[AxisSlice] = []
    for axis in region.axes:
        axes.append(axis if axis.dropped else replace(axis, size=next(sizes)))
    return replace(region, axes=tuple(axes))
