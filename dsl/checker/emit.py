"""Building Tile IR: the instructions that the checker emits, with their result types."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager

from dslc.checker.failure import fail
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.ir import Region, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout

MAX_ELEMENTS = 1 << 24  # of a tile: beyond what a turn of any machine holds


class Emitter:
    """Appends instructions to the current block; `hint` names the tiles, `loc` places them."""

    def __init__(self) -> None:
        self.block: list[ins.Stmt] = []
        self.loc: Loc | None = None
        self.hint = ""
        self._taken: set[str] = set()

    @contextmanager
    def nested(self) -> Iterator[list[ins.Stmt]]:
        """Emit into a new block for a while."""
        outer, self.block = self.block, []
        try:
            yield self.block
        finally:
            self.block = outer

    def fresh_var(self, name: str, dtype: DType) -> ex.Var:
        """A variable whose name no other variable of the kernel has."""
        unique, count = name, 0
        while unique in self._taken:
            count += 1
            unique = f"{name}.{count}"
        self._taken.add(unique)
        return ex.Var(unique, dtype)

    def value(self, dtype: DType, shape: tuple[int, ...], layout: Layout | None = None) -> Value:
        """A tile that some instruction will define; DSL0204 for one that no machine could hold."""
        if math.prod(shape) > MAX_ELEMENTS:
            fail(
                "DSL0204",
                f"a tile of {math.prod(shape)} elements is too large",
                self.loc,
                hint=f"the limit is {MAX_ELEMENTS}: walk over it in a loop",
            )
        return Value(TileType(dtype, shape, layout), self.hint)

    def emit(self, instruction: ins.Stmt) -> None:
        """Append an instruction."""
        self.block.append(instruction)

    # Making and shaping

    def full(self, value: ex.Expr, shape: tuple[int, ...]) -> Value:
        """A tile of one scalar."""
        out = self.value(value.dtype, shape)
        self.emit(ins.Full(out, value, loc=self.loc))
        return out

    def broadcast(self, x: Value, shape: tuple[int, ...]) -> Value:
        """The tile stretched to `shape`; itself if it has that shape."""
        if x.type.shape == shape:
            return x
        out = self.value(x.type.dtype, shape)
        self.emit(ins.Broadcast(out, x, loc=self.loc))
        return out

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        """The same elements in another shape."""
        if x.type.shape == shape:
            return x
        out = self.value(x.type.dtype, shape)
        self.emit(ins.Reshape(out, x, loc=self.loc))
        return out

    def transpose(self, x: Value, axes: tuple[int, ...]) -> Value:
        """Axes in another order."""
        out = self.value(x.type.dtype, tuple(x.type.shape[a] for a in axes))
        self.emit(ins.Transpose(out, x, axes, loc=self.loc))
        return out

    # Elementwise

    def unary(self, op: str, x: Value) -> Value:
        """op(x) in x's dtype."""
        out = self.value(x.type.dtype, x.type.shape, x.type.layout)
        self.emit(ins.Unary(out, op, x, loc=self.loc))
        return out

    def binary(self, op: str, x: Value, y: Value) -> Value:
        """op(x, y) of tiles of one shape and dtype."""
        dtype = BOOL if op in ex.COMPARE_OPS else x.type.dtype
        out = self.value(dtype, x.type.shape, x.type.layout or y.type.layout)
        self.emit(ins.Binary(out, op, x, y, loc=self.loc))
        return out

    def cast(self, x: Value, dtype: DType, saturate: bool = False) -> Value:
        """Another dtype; the tile itself if it has it."""
        if x.type.dtype == dtype:
            return x
        out = self.value(dtype, x.type.shape, x.type.layout)
        self.emit(ins.Cast(out, x, saturate, loc=self.loc))
        return out

    def convert_layout(self, x: Value, layout: Layout) -> Value:
        """Another layout; the tile itself if it has it."""
        if x.type.layout == layout:
            return x
        out = self.value(x.type.dtype, x.type.shape, layout)
        self.emit(ins.ConvertLayout(out, x, loc=self.loc))
        return out

    def with_layout(self, x: Value, layout: Layout) -> Value:
        """Give the tile that was just made a layout; convert it if it has another already."""
        last = self.block[-1] if self.block else None
        if x.type.layout is None and last is not None and getattr(last, "out", None) is x:
            out = Value(dataclasses.replace(x.type, layout=layout), x.name)
            self.block[-1] = dataclasses.replace(last, out=out)  # type: ignore[arg-type]
            return out
        return self.convert_layout(x, layout)

    # Memory

    def load(
        self, region: Region, other: ex.Expr | None = None, where: Value | None = None
    ) -> Value:
        """The tile of a region."""
        out = self.value(region.memory.dtype, region.shape)
        self.emit(ins.Load(out, region, other, where=where, loc=self.loc))
        return out
