"""Tiles of other sizes along some axes, and what is read and written of memories likewise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dslc.compiler.ir import AxisSlice, Region, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Name
from dslc.compiler.passes.axis_extents import Axis


class Resized(Rewriter):
    """Gives axes of tiles new sizes; all that have one coordinate (`axis_extents`) change together."""

    def __init__(self, sizes: Mapping[Axis, int]) -> None:
        super().__init__()
        self._sizes: dict[Value, dict[int, int]] = {}
        for (value, axis), size in sizes.items():
            self._sizes.setdefault(value, {})[axis] = size
        self._made: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """The tile of the new shape."""
        if value not in self._sizes:
            return value
        if value not in self._made:
            sizes = self._sizes[value]
            shape = tuple(sizes.get(k, n) for k, n in enumerate(value.type.shape))
            self._made[value] = replace(value, type=replace(value.type, shape=shape))
        return self._made[value]

    def define(self, name: Name) -> Name:
        """The same where it is defined."""
        return self.value(name) if isinstance(name, Value) else name

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A load or store of so much."""
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, ins.Load):
            region = _resized(rebuilt.region, rebuilt.out)
            return (rebuilt if region == rebuilt.region else replace(rebuilt, region=region),)
        if isinstance(rebuilt, ins.Store):
            region = _resized(rebuilt.region, rebuilt.x)
            return (rebuilt if region == rebuilt.region else replace(rebuilt, region=region),)
        return (rebuilt,)


def _resized(region: Region, tile: Value) -> Region:
    sizes = iter(tile.type.shape)
    axes: list[AxisSlice] = []
    for axis in region.axes:
        axes.append(axis if axis.dropped else replace(axis, size=next(sizes)))
    return replace(region, axes=tuple(axes))
