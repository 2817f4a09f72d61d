"""A part of a tile along an axis, computed from the same parts of what the tile is made of.

    %x = load @ring[slot, 0 : +16, 0 : +64]            %x0 = load @ring[slot, 0 : +16, 0 : +16]
    %y = mul %x, %f                              ->    %f0 = extract %f, starts=(0, 0) ...
                                                       %y0 = mul %x0, %f0

Elementwise instructions, broadcasts and transposes become those of parts. Where that ends is for a
pass to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.regions import part
from dslc.compiler.ir.rewrite import Substitution
from dslc.compiler.ir.traverse import operands
from dslc.compiler.ir.values import Region, Value
from dslc.compiler.layout import slice_tile

_WORD_BITS = 32


class RaggedError(Exception):
    """A part that lies in some of the threads only, or in no registers."""


class TileParts(ABC):
    """The elements [start, start + size) of tiles along an axis; `steps` compute them, in order."""

    def __init__(self, start: int, size: int) -> None:
        self.start, self.size = start, size
        self.steps: list[Stmt] = []
        self._done: dict[tuple[Value, int], Value] = {}

    @abstractmethod
    def source(self, value: Value) -> Stmt | None:
        """The statement that makes a tile, if parts of it may be computed in its place."""

    @abstractmethod
    def end(self, value: Value, axis: int) -> Value | None:
        """The part of a tile that is not followed further; None where it is."""

    def of(self, value: Value, axis: int) -> Value:
        """The part of a tile along an axis. RaggedError or DSL0305 where a thread would have none."""
        if (value, axis) not in self._done:
            self._done[value, axis] = self._make(value, axis)
        return self._done[value, axis]

    def _make(self, value: Value, axis: int) -> Value:
        end = self.end(value, axis)
        if end is not None:
            return end
        source = self.source(value)
        if isinstance(source, ins.ELEMENTWISE):
            out = self.tile(value, axis)
            parts = Substitution(values={v: self.of(v, axis) for v in operands(source)})
            (step,) = parts.body((source,))
            self.steps.append(replace(step, out=out))  # type: ignore[arg-type]
            return out
        if isinstance(source, ins.Transpose):
            out = self.tile(value, axis)
            self.steps.append(replace(source, out=out, x=self.of(source.x, source.axes[axis])))
            return out
        if isinstance(source, ins.Broadcast):
            x, out = source.x, self.tile(value, axis)
            own = axis - (value.type.rank - x.type.rank)
            if own >= 0 and x.type.shape[own] != 1:
                x = self.of(x, own)
            self.steps.append(replace(source, out=out, x=x))
            return out
        taken = self.extract(value, axis)
        self.steps.append(taken)
        return taken.out

    def extract(self, value: Value, axis: int) -> ins.Extract:
        """The part from the registers of the whole tile. RaggedError where that has none."""
        if value.type.layout is None:
            raise RaggedError
        starts = tuple(self.start if d == axis else 0 for d in range(value.type.rank))
        return ins.Extract(self.tile(value, axis), value, starts, (1,) * value.type.rank)

    def tile(self, value: Value, axis: int) -> Value:
        """A tile for the part, which holds it as the whole one does."""
        type_ = value.type
        shape = tuple(self.size if d == axis else n for d, n in enumerate(type_.shape))
        layout = type_.layout and slice_tile(type_.layout, axis, self.start, self.size)
        if layout is not None and layout.locals * type_.dtype.bits % _WORD_BITS:
            raise RaggedError
        return replace(value, type=replace(type_, shape=shape, layout=layout))

    def region(self, region: Region, axis: int) -> Region:
        """The part of a region along an axis of the tile that it gives."""
        return part(region, axis, self.start, self.size)
