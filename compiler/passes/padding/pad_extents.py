"""Padding: tiles whose extents no number of threads divides are made a little larger.

Before (tests/ir/pad-extents/example.tir):

    grid m in range(0, M, 1)
    %x = load @x[m!, 0 : +511!] : f32[511]
    %most = reduce max %x, axis=0 : f32[]
    %all = broadcast %most : f32[511]
    %d = sub %x, %all : f32[511]
    store @y[m!, 0 : +511!], %d

After:

    grid m in range(0, M, 1)
    %x = load @x[m!, 0 : +512 limit 511!] : f32[512]
    %number = arange : i32[512]
    %end = full i32(511) : i32[512]
    %inside = lt %number, %end : bool[512]
    %inside_1 = reshape %inside : bool[512]
    %inside_2 = broadcast %inside_1 : bool[512]
    %none = full f32(-inf) : f32[512]
    %x_1 = where %inside_2, %x, %none : f32[512]
    %most = reduce max %x_1, axis=0 : f32[]
    %all = broadcast %most : f32[512]
    %d = sub %x, %all : f32[512]
    store @y[m!, 0 : +512 limit 511!], %d

Without it each of 32 threads would hold all 511 elements, since 32 divides 511 nowhere. Loads give the
padding 0 and stores drop it; what stands between computes whatever it gives, and nobody asks. Before
a reduction, and a product over the axis, it becomes what changes nothing. Which axes are padded is for
`padded_axes` to say; programs with layouts of their own are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, I32, DType, has_infinity, limits
from dslc.compiler.ir import Kernel, TileProgram, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.indexed import memory_axes
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels, with_body
from dslc.compiler.ir.traverse import Name, definitions
from dslc.compiler.ir.values import Memory, Region
from dslc.compiler.passes.padding.padded_axes import Extents, padded
from dslc.compiler.targets import Target


@dataclass(frozen=True, slots=True)
class PadExtents:
    """Pads the tiles that their threads could not share; `warps` is as `AssignLayouts` takes it."""

    target: Target
    warps: int | None = None
    name: str = "pad-extents"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with padding, where there is need for it."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        shapes = padded(kernel, self.target, self.warps)
        return with_body(kernel, _Padder(kernel, shapes).body(kernel.body)) if shapes else kernel


class _Padder(Rewriter):
    def __init__(self, kernel: Kernel, shapes: Extents) -> None:
        super().__init__()
        self.shapes = shapes
        self.made_by = definitions(kernel.body)
        self.made: dict[Value, Value] = {}

    def memory(self, memory: Memory) -> Memory:
        """Memories stay as they are."""
        return memory

    def value(self, value: Value) -> Value:
        """The tile with its padding."""
        if value not in self.shapes:
            return value
        if value not in self.made:
            type_ = replace(value.type, shape=self.shapes[value])
            self.made[value] = replace(value, type=type_)
        return self.made[value]

    def define(self, name: Name) -> Name:
        """The same where it is defined."""
        return self.value(name) if isinstance(name, Value) else name

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement over padded tiles, with masks before it where padding would count."""
        new = self.rebuild(stmt)
        match stmt, new:
            case ins.Load(out=x), ins.Load(region=region):
                return (_over(new, self._region(region, x, None)),)
            case ins.Store(x=x), ins.Store(region=region):
                return (_over(new, self._region(region, x, None)),)
            case ins.Gather(out=x), ins.Gather(region=region):
                return (_over(new, self._region(region, x, memory_axes(stmt))),)
            case ((ins.Scatter() | ins.AtomicRmw()), (ins.Scatter() | ins.AtomicRmw())):
                masks, ids = list[Stmt](), new.ids
                if ids:  # one id that is nowhere is enough
                    first = stmt.ids[0]
                    masks, kept = self._masked_everywhere(first, _nowhere(first), stmt.loc)
                    ids = (kept, *ids[1:])
                region = self._region(new.region, stmt.x, memory_axes(stmt))
                return (*masks, replace(new, ids=ids, region=region))
            case ins.Reduce(op=op, x=x, axis=axis), ins.Reduce():
                masks, kept = self._masked(x, axis, _neutral(op, x.type.dtype), stmt.loc)
                return (*masks, replace(new, x=kept))
            case ins.Dot(a=a, b=b), ins.Dot():
                left, x = self._zeroed(a, a.type.rank - 1, stmt.loc)
                right, y = self._zeroed(b, b.type.rank - 2, stmt.loc)
                return (*left, *right, replace(new, a=x, b=y))
        return (new,)

    def _region(self, region: Region, tile: Value, places: dict[int, int] | None) -> Region:
        """The region of a padded tile; `places` are the memory's axes of the tile's."""
        if tile not in self.shapes:
            return region
        if places is None:
            kept = [k for k, a in enumerate(region.axes) if not a.dropped]
            places = dict(enumerate(kept))
        axes = list(region.axes)
        for d, k in places.items():
            old, size = axes[k], self.shapes[tile][d]
            if size != old.size:
                axes[k] = replace(old, size=size, limit=old.count)
        return replace(region, axes=tuple(axes))

    # Masks

    def _masked_everywhere(
        self, x: Value, other: Const, loc: Loc | None
    ) -> tuple[list[Stmt], Value]:
        """A tile whose padding along all axes is `other`."""
        stmts: list[Stmt] = []
        kept = self.value(x)
        for axis in range(x.type.rank):
            more, kept = self._mask(kept, x.type.shape[axis], axis, other, loc)
            stmts += more
        return stmts, kept

    def _masked(
        self, x: Value, axis: int, other: Const, loc: Loc | None
    ) -> tuple[list[Stmt], Value]:
        """A tile whose padding along an axis is `other`."""
        return self._mask(self.value(x), x.type.shape[axis], axis, other, loc)

    def _zeroed(self, x: Value, axis: int, loc: Loc | None) -> tuple[list[Stmt], Value]:
        """A tile whose padding along an axis is 0, as that of loads is."""
        if self._is_zero(x, axis):
            return [], self.value(x)
        zero = Const(0.0 if x.type.dtype.is_float else 0, x.type.dtype)
        return self._masked(x, axis, zero, loc)

    def _is_zero(self, x: Value, axis: int) -> bool:
        match self.made_by.get(x):
            case ins.Load(other=other):
                return other is None or constant(other) == 0
            case ins.Cast(x=inner):
                return self._is_zero(inner, axis)
            case ins.Transpose(x=inner, axes=axes):
                return self._is_zero(inner, axes[axis])
        return False

    def _mask(
        self, x: Value, count: int, axis: int, other: Const, loc: Loc | None
    ) -> tuple[list[Stmt], Value]:
        shape = x.type.shape
        size = shape[axis]
        if size == count:
            return [], x
        along = tuple(size if d == axis else 1 for d in range(len(shape)))
        number = Value(TileType(I32, (size,)), "number")
        end = Value(TileType(I32, (size,)), "end")
        inside = Value(TileType(BOOL, (size,)), "inside")
        placed = Value(TileType(BOOL, along), "inside")
        mask = Value(TileType(BOOL, shape), "inside")
        fill = Value(TileType(x.type.dtype, shape), "none")
        kept = Value(x.type, x.name)
        stmts: list[Stmt] = [
            ins.Arange(number, loc=loc),
            ins.Full(end, Const(count, I32), loc=loc),
            ins.Binary(inside, "lt", number, end, loc=loc),
            ins.Reshape(placed, inside, loc=loc),
            ins.Broadcast(mask, placed, loc=loc),
            ins.Full(fill, other, loc=loc),
            ins.Where(kept, mask, x, fill, loc=loc),
        ]
        return stmts, kept


def _over(stmt: Stmt, region: Region) -> Stmt:
    return replace(stmt, region=region)  # type: ignore[arg-type]


def _nowhere(ids: Value) -> Const:
    """An id that no memory has, wherever its slice starts: the least is far below 0."""
    return Const(ids.type.dtype.integer_range[0], ids.type.dtype)


def _neutral(op: str, dtype: DType) -> Const:
    """What changes no reduction of other elements."""
    if op in ("any", "all"):
        return Const(op == "all", BOOL)
    if op == "sum":
        return Const(-0.0 if dtype.is_float else 0, dtype)
    greatest = op in ("min", "argmin")
    if dtype == BOOL:
        return Const(greatest, BOOL)
    if not dtype.is_float:
        return Const(dtype.integer_range[greatest], dtype)
    if has_infinity(dtype):
        return Const(float("inf") if greatest else float("-inf"), dtype)
    ends = limits(dtype)
    return Const(ends.greatest if greatest else ends.least, dtype)
