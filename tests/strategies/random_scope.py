"""Random scalars, tiles and regions of what a kernel under construction has at a place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from dslc.compiler.dtypes import BOOL, F16, F32, I32, INDEX, DType, parse_dtype
from dslc.compiler.ir import Memory, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, Select, Unary, index
from dslc.compiler.ir.values import AxisSlice, Region
from hypothesis import strategies as st

U4 = parse_dtype("u4")
SIZES = (1, 2, 3, 4, 8)
MAX_ELEMENTS = 64
ARITHMETIC = {
    F32: ("add", "sub", "mul", "min", "max"),
    F16: ("add", "sub", "mul", "min", "max"),
    I32: ("add", "sub", "mul", "min", "max", "and", "or", "xor"),
    BOOL: ("and", "or", "xor"),
}
UNARY = {
    F32: ("neg", "abs", "floor", "exp"),
    F16: ("neg", "abs"),
    I32: ("neg", "abs", "invert"),
    BOOL: ("not",),
}
COMPUTING = tuple(ARITHMETIC)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def add(x: Expr, y: Expr) -> Expr:
    return Binary("add", x, y, INDEX)


@dataclass
class Scope:
    """A place in a kernel under construction: what may be read there, and what was put there."""

    draw: st.DrawFn
    memories: list[Memory]
    scalars: list[Expr]
    tiles: list[Value] = field(default_factory=list)
    buffers: list[Memory] = field(default_factory=list)
    body: list[ins.Stmt] = field(default_factory=list)
    names: list[int] = field(default_factory=lambda: [0])
    depth: int = 0

    def choose(self, *options):
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def nested(self, scalars=(), tiles=()) -> Self:
        inside = type(self)(self.draw, list(self.memories), [*self.scalars, *scalars])
        inside.tiles = [*self.tiles, *tiles]
        inside.buffers = list(self.buffers)
        inside.names, inside.depth = self.names, self.depth + 1
        return inside

    def name(self, hint: str) -> str:
        self.names[0] += 1
        return f"{hint}{self.names[0]}"

    def value(self, dtype: DType, shape: tuple[int, ...]) -> Value:
        return Value(TileType(dtype, shape), self.choose("x", "y", "acc"))

    def emit(self, out: Value, make) -> Value:
        self.body.append(make(out))
        self.tiles.append(out)
        return out

    # Scalars

    def index(self, depth: int = 2) -> Expr:
        """An index expression; divisors are constants, so that all is defined."""
        if depth == 0 or self.number(0, 3) == 0:
            return self.choose(index(self.number(-3, 12)), *self.scalars)
        op = self.choose("add", "sub", "mul", "floordiv", "mod", "min", "max", "select", "shr")
        x = self.index(depth - 1)
        match op:
            case "mul":
                return Binary(op, x, index(self.number(-2, 4)), INDEX)
            case "floordiv" | "mod":
                return Binary(op, x, index(self.choose(1, 2, 3, 4, 8, -2)), INDEX)
            case "shr":
                return Binary(op, x, index(self.number(0, 3)), INDEX)
            case "select":
                return Select(self.condition(depth - 1), x, self.index(depth - 1), INDEX)
        return Binary(op, x, self.index(depth - 1), INDEX)

    def condition(self, depth: int = 1) -> Expr:
        op = self.choose(*COMPARISONS)
        test: Expr = Binary(op, self.index(depth), self.index(depth), BOOL)
        if depth and self.number(0, 3) == 0:
            test = Unary("not", test, BOOL)
        if depth and self.number(0, 3) == 0:
            test = Binary(self.choose("and", "or"), test, self.condition(0), BOOL)
        return test

    def constant(self, dtype: DType) -> Const:
        value = self.number(-3, 5)
        if dtype == BOOL:
            return Const(value > 0, dtype)
        return Const(value / 2 if dtype.is_float else value, dtype)

    # Tiles

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        rank = self.number(0, 2) if rank is None else rank
        return tuple(self.choose(*SIZES) for _ in range(rank))

    def tile(self, wanted=lambda v: True) -> Value:
        found = [t for t in self.tiles if wanted(t)]
        if found:
            return self.choose(*found)
        shapes = [self.shape(rank) for rank in (1, 2)]
        types = [TileType(d, s) for s in shapes for d in COMPUTING]
        type_ = self.choose(*[t for t in types if wanted(Value(t))])
        return self.full(type_.dtype, type_.shape)

    def like(self, tile: Value) -> Value:
        return self.tile_of(tile.type.dtype, tile.type.shape)

    def tile_of(self, dtype: DType, shape: tuple[int, ...]) -> Value:
        found = [t for t in self.tiles if t.type == TileType(dtype, shape)]
        if found and self.number(0, 2):
            return self.choose(*found)
        return self.full(dtype, shape)

    def full(self, dtype: DType, shape: tuple[int, ...]) -> Value:
        value: Expr = self.constant(dtype)
        if dtype in (I32, F32) and self.number(0, 1):
            value = Convert(self.index(), dtype)
        return self.emit(self.value(dtype, shape), lambda out: ins.Full(out, value))

    def region(self, memory: Memory, sizes: tuple[int, ...] | None = None) -> Region:
        axes = []
        for _ in memory.shape:
            dropped = self.number(0, 3) == 0
            size = 1 if dropped else self.choose(*SIZES)
            step = 1 if dropped else self.choose(1, 2)
            limit = size - 1 if not dropped and self.number(0, 7) == 7 else None
            axes.append(AxisSlice(self.index(), size, step, dropped, limit=limit))
        return Region(memory, tuple(axes))

    def computing(self) -> Value:
        return self.tile(lambda t: t.type.dtype in ARITHMETIC)
