"""A program over a part of an axis: tiles of so many of its elements, memories read and written there.

The axes of all tiles that share that coordinate come from `axis_extents.classes_of`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import simplify
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Name
from dslc.compiler.passes.axis_extents import Axis


class Narrowed(Rewriter):
    """Keeps `size` elements from `start` on along the given axes of tiles."""

    def __init__(self, axes: Iterable[Axis], start: int = 0, size: int = 1) -> None:
        super().__init__()
        self._start, self._size = start, size
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
            shape = tuple(self._size if k in along else n for k, n in enumerate(value.type.shape))
            self._made[value] = replace(value, type=replace(value.type, shape=shape))
        return self._made[value]

    def define(self, name: Name) -> Name:
        """The same where it is defined."""
        return self.value(name) if isinstance(name, Value) else name

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A load or store of so much less."""
        rebuilt = self.rebuild(stmt)
        match stmt:
            case ins.Load(out=tile) | ins.Store(x=tile):
                assert isinstance(rebuilt, ins.Load | ins.Store)
                region = self._part(rebuilt.region, self._axes.get(tile, set()))
                return (rebuilt if region == rebuilt.region else replace(rebuilt, region=region),)
        return (rebuilt,)

    def _part(self, region: Region, along: set[int]) -> Region:
        axes = list(region.axes)
        kept = [k for k, axis in enumerate(axes) if not axis.dropped]
        for k in (kept[number] for number in along):
            axes[k] = self._moved(axes[k])
        return replace(region, axes=tuple(axes))

    def _moved(self, axis: AxisSlice) -> AxisSlice:
        start = axis.start
        if self._start:
            offset = ex.index(self._start * axis.step)
            start = simplify(ex.Binary("add", start, offset, INDEX))
        return replace(axis, start=start, size=self._size)
