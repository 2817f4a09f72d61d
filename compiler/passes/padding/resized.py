"""Tiles of other sizes along some axes, and what is read and written of memories likewise.

The axes of all tiles that share a coordinate come from `axis_extents.classes_of`: they change together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dslc.compiler.analysis.axis_extents import Axis
from dslc.compiler.ir import Region, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.regions import part
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Name


class Resized(Rewriter):
    """Keeps so many elements of axes of tiles, from `start` on."""

    def __init__(self, sizes: Mapping[Axis, int], start: int = 0) -> None:
        super().__init__()
        self._start = start
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
        match stmt:
            case ins.Load(out=tile) | ins.Store(x=tile) if tile in self._sizes:
                assert isinstance(rebuilt, ins.Load | ins.Store)
                region = self._part(rebuilt.region, self._sizes[tile])
                return (rebuilt if region == rebuilt.region else replace(rebuilt, region=region),)
        return (rebuilt,)

    def _part(self, region: Region, sizes: Mapping[int, int]) -> Region:
        for axis, size in sizes.items():
            region = part(region, axis, self._start, size)
        return region
