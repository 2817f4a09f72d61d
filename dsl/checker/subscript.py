"""Subscripts: regions of tensors and buffers, constant slices of tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dslc.checker.arithmetic import as_dtype, broadcast_shapes
from dslc.checker.context import Context
from dslc.checker.failure import fail, needs_dims
from dslc.checker.items import Builtin, Item, describe, is_scalar, shape_text
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import AxisSlice, Memory, Region, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import linear, simplify, to_expr
from dslc.compiler.ir.indexed import first_id_axis, indexed_shape
from dslc.compiler.layout import Layout
from dslc.frontend import tree

Evaluate = Callable[[tree.Expr], Item]
Subscript: TypeAlias = tree.Slice | tree.Expr | tuple[Item, Loc]
"""A slice, a new axis, or what stands for an axis, evaluated."""
_WHOLE = "..."


@dataclass(frozen=True, slots=True)
class Access:
    """A region with the places of the new axes of size 1 in the tile that is read from it.

    Along `axes` of the memory the elements are those that tiles of `ids` choose, which have one shape.
    It stands in the tile where the first of `axes` does, or in front of all others. `whole` are the
    axes written `:`.
    """

    region: Region
    new_axes: tuple[int, ...]
    whole: tuple[int, ...]
    ids: tuple[Value, ...] = ()
    axes: tuple[int, ...] = ()
    in_front: bool = False

    @property
    def held(self) -> tuple[int, ...]:
        """The shape of the tile as instructions hold it."""
        return indexed_shape(self.region, self.axes, self.ids[0].type.shape if self.ids else ())

    @property
    def order(self) -> tuple[int, ...]:
        """Which axes of the tile as instructions hold it are those of the program's, in their order."""
        every = range(len(self.held))
        if not self.in_front:
            return tuple(every)
        first = first_id_axis(self.region, self.axes)
        own = range(first, first + self.ids[0].type.rank)
        return (*own, *(k for k in every if k not in own))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the program's tile, new axes included."""
        held = self.held
        sizes = [held[k] for k in self.order]
        for place in self.new_axes:
            sizes.insert(place, 1)
        return tuple(sizes)

    def given(self, c: Context, x: Value) -> Value:
        """The program's tile of a value that an instruction gives."""
        return c.emit.reshape(_turned(c, x, self.order), self.shape)

    def taken(self, c: Context, x: Value) -> Value:
        """The value that an instruction takes of the program's tile."""
        held = self.held
        order = self.order
        x = c.emit.reshape(x, tuple(held[k] for k in order))
        return _turned(c, x, tuple(order.index(k) for k in range(len(order))))


def _turned(c: Context, x: Value, axes: tuple[int, ...]) -> Value:
    return x if list(axes) == sorted(axes) else c.emit.transpose(x, axes)


def expand(
    items: tuple[tree.Expr | tree.Slice, ...], rank: int, loc: Loc
) -> list[tree.Expr | tree.Slice]:
    """One item an axis (and None for new axes): `...` and what is missing become `:`."""
    used = sum(not is_new_axis(i) and not _is_ellipsis(i) for i in items)
    if used > rank:
        hint = f"write {rank}, one an axis; `None` adds an axis of size 1"
        fail("DSL0212", f"{used} subscripts for {rank} axes", loc, hint=hint)
    dots = [i for i in items if _is_ellipsis(i)]
    if len(dots) > 1:
        fail("DSL0212", "only one ... may stand in a subscript", loc)
    rest: list[tree.Expr | tree.Slice] = [tree.Slice(None, None, None, loc=loc)] * (rank - used)
    if not dots:
        return [*items, *rest]
    at = next(k for k, i in enumerate(items) if _is_ellipsis(i))
    return [*items[:at], *rest, *items[at + 1 :]]


def is_new_axis(item: tree.Expr | tree.Slice) -> bool:
    """Whether an axis of size 1 is added."""
    return isinstance(item, tree.Literal) and item.value is None


def _is_ellipsis(item: tree.Expr | tree.Slice) -> bool:
    return isinstance(item, tree.Name) and item.id == _WHOLE


def access(
    c: Context,
    memory: Memory,
    node: tree.Subscript | tree.Name,
    evaluate: Evaluate,
    layout: Layout | None = None,
    gathered: tuple[int, Value] | None = None,
) -> Access:
    """The region that a subscript of a tensor names.

    A slice `a :` takes its length from `layout`. Along an axis that is `gathered`, which must be
    written `:`, its tile chooses.
    """
    items: list[Subscript] = []
    axis = 0
    for item in expand(getattr(node, "items", ()), memory.rank, node.loc):
        if is_new_axis(item) or isinstance(item, tree.Slice):
            items.append(item)
        else:
            items.append((evaluate(item), item.loc))
        if gathered is not None and axis == gathered[0] and not is_new_axis(item):
            if not isinstance(item, tree.Slice) or item.start is not None or item.stop is not None:
                fail("DSL0212", f"axis {axis}, along which ids choose, is written `:`", node.loc)
            items[-1] = (gathered[1], node.loc)
        axis += not is_new_axis(item)
    return access_by(c, memory, items, evaluate, layout)


def access_by(
    c: Context,
    memory: Memory,
    items: list[Subscript],
    evaluate: Evaluate,
    layout: Layout | None = None,
) -> Access:
    """The same of subscripts of which only slices are not evaluated."""
    layout_shape = list(layout.shape) if layout is not None else []
    chosen = _ids(c, [i for i in items if is_tile(i)])
    last = max((n for n, i in enumerate(items) if is_tile(i)), default=-1)
    axes: list[AxisSlice] = []
    new_axes: list[int] = []
    whole: list[int] = []
    numbered: list[int] = []
    place = 0
    in_front = False
    for number, item in enumerate(items):
        axis = len(axes)
        if is_tile(item):
            place += chosen[0].type.rank if not numbered else 0
            numbered.append(axis)
            axes.append(AxisSlice(ex.index(0), 1))
            continue
        if isinstance(item, tuple):
            axes.append(_integer(*item))
            continue
        in_front |= bool(numbered) and number < last
        if isinstance(item, tree.Slice):
            if item.start is None and item.stop is None:
                whole.append(axis)
            # `:` and `: b` say where they end: only `a :` leaves that to the layout.
            begun = item.start is not None and place < len(layout_shape)
            open_size = layout_shape[place] if begun else None
            axes.append(_slice(c, memory, axis, item, evaluate, open_size))
        else:
            new_axes.append(place)
        place += 1
    found = Region(memory, tuple(axes))
    if not in_front:
        return Access(found, tuple(new_axes), tuple(whole), chosen, tuple(numbered))
    # The ids' axes stand before all others: a new axis before them moves back.
    rank, first = chosen[0].type.rank, first_id_axis(found, tuple(numbered))
    first += sum(n <= first for n in new_axes)
    moved = tuple(n + rank if n < first else n for n in new_axes)
    return Access(found, moved, tuple(whole), chosen, tuple(numbered), in_front)


def is_tile(item: Subscript) -> bool:
    """Whether a tile chooses along the axis."""
    return isinstance(item, tuple) and isinstance(item[0], Value)


def _ids(c: Context, items: list[Subscript]) -> tuple[Value, ...]:
    """The tiles of a subscript, broadcast to one shape."""
    tiles: list[Value] = []
    for item in items:
        assert isinstance(item, tuple)
        tile, loc = item
        assert isinstance(tile, Value)
        if not tile.type.dtype.is_integer:
            hint = None
            if tile.type.dtype == BOOL:
                hint = (
                    "a mask chooses elements in load(t[...], where=mask), or by where(mask, x, y)"
                )
            fail("DSL0212", f"tiles of integers choose, not {describe(tile)}", loc, hint=hint)
        tiles.append(tile)
    if not tiles:
        return ()
    shape = tiles[0].type.shape
    for tile, item in zip(tiles, items, strict=True):
        assert isinstance(item, tuple)
        shape = broadcast_shapes(shape, tile.type.shape, item[1])
    return tuple(c.emit.broadcast(tile, shape) for tile in tiles)


def _integer(start: Item, loc: Loc) -> AxisSlice:
    if not is_scalar(start):
        fail("DSL0212", f"a subscript is an integer, not {describe(start)}", loc)
    return AxisSlice(index(start, loc), 1, dropped=True)


def index(item: Item, loc: Loc) -> ex.Expr:
    """An integer scalar as a simplified index expression."""
    if isinstance(item, float):
        fail("DSL0212", f"a subscript is an integer, not {item}", loc, hint="use // to divide")
    return simplify(as_dtype(item, INDEX, loc, "subscript"))


def _slice(
    c: Context,
    memory: Memory,
    axis: int,
    node: tree.Slice,
    evaluate: Evaluate,
    open_size: int | None,
) -> AxisSlice:
    step = 1
    if node.step is not None:
        step = c.integer(evaluate(node.step), node.step.loc, "the step of a slice")
        if step < 1:
            fail("DSL0212", f"the step of a slice is at least 1, not {step}", node.step.loc)
    start = ex.index(0) if node.start is None else index(evaluate(node.start), node.start.loc)
    if node.stop is None and open_size is not None:
        return AxisSlice(start, open_size, step)
    stop, end = _stops(c, memory.shape[axis], start, node.stop, evaluate)
    length = _length(c, start, stop, node.loc)
    size = -(-length // step)
    if size < 1:
        fail(
            "DSL0204",
            f"this slice has {size} elements",
            node.loc,
            hint="a slice a : b needs b greater than a",
        )
    return AxisSlice(start, size, step, end=end)


def _stops(
    c: Context, extent: ex.Expr, start: ex.Expr, node: tree.Expr | None, evaluate: Evaluate
) -> tuple[ex.Expr, ex.Expr | None]:
    """Where a slice stops, and where the memory ends for it: `min(i + B, last)` says both.

    The stop is the one that lies at a constant distance from the start, the nearest of several.
    """
    if node is None:
        return extent, None
    stops = [index(evaluate(n), n.loc) for n in _least_of(c, node)]
    lengths = [_known_length(c, start, stop) for stop in stops]
    known = [n for n in lengths if n is not None]
    if len(stops) == 1 or not known:
        return stops[0], None
    nearest = stops[lengths.index(min(known))]
    others = [s for s, n in zip(stops, lengths, strict=True) if n is None and s != extent]
    end = None
    for other in others:
        end = other if end is None else simplify(ex.Binary("min", end, other, INDEX))
    return nearest, end


def _least_of(c: Context, node: tree.Expr) -> list[tree.Expr]:
    """The arguments of `min(x, y)`, those of a `min` among them taken apart too."""
    if not isinstance(node, tree.Call) or not isinstance(node.function, tree.Name):
        return [node]
    if node.keywords or len(node.args) != 2 or c.lookup(node.function) != Builtin("min"):
        return [node]
    return [n for a in node.args for n in _least_of(c, a)]


def _known_length(c: Context, start: ex.Expr, stop: ex.Expr) -> int | None:
    known = c.known(to_expr(linear(ex.Binary("sub", stop, start, INDEX))))
    return known if isinstance(known, int) else None


def _length(c: Context, start: ex.Expr, stop: ex.Expr, loc: Loc) -> int:
    """stop - start, which must be a constant."""
    length = to_expr(linear(ex.Binary("sub", stop, start, INDEX)))
    known = c.known(length)
    if isinstance(known, int):
        return known
    free = ex.free_vars(length)
    if free and free <= set(c.dims.values()):
        names = sorted(v.name for v in free)
        needs_dims(f"the length of this slice depends on {', '.join(names)}", loc, names)
    fail(
        "DSL0204",
        "the length of this slice is not known at compile time",
        loc,
        hint="write t[i : i + BM] with a constant BM and a name for i; "
        "t[i : min(i + BM, n)] where it may end before",
    )


def check_readable(memory: Memory, loc: Loc) -> None:
    """An `out` parameter may not be read."""
    if memory.role is Role.OUT:
        fail(
            "DSL0211",
            f"{memory.name} is an out parameter and cannot be read",
            loc,
            hint=f"declare it {memory.name}: inout {memory.dtype}[...]",
        )


def check_writable(memory: Memory, loc: Loc) -> None:
    """An input may not be written."""
    if memory.role is Role.IN:
        fail(
            "DSL0211",
            f"{memory.name} is an input and cannot be written",
            loc,
            hint=f"declare it {memory.name}: out {memory.dtype}[...] (or inout)",
        )


def check_updatable(memory: Memory, loc: Loc) -> None:
    """What is read and written at once is `inout`, or memory of a turn."""
    if memory.role in (Role.IN, Role.OUT):
        what = "an input and cannot be written"
        if memory.role is Role.OUT:
            what = "an out parameter and cannot be read"
        fail(
            "DSL0211",
            f"{memory.name} is {what}",
            loc,
            hint=f"declare it {memory.name}: inout {memory.dtype}[...]",
        )


def read(
    c: Context, found: Access, other: ex.Expr | None = None, where: Value | None = None
) -> Item:
    """Load a region, or gather what ids choose; a rank-0 result is a scalar.

    `where` has the shape of the region.
    """
    if found.ids:
        out = c.emit.value(found.region.memory.dtype, found.held)
        c.emit.emit(ins.Gather(out, found.region, found.ids, found.axes, loc=c.emit.loc))
    else:
        out = c.emit.load(found.region, other, where)
    tile = found.given(c, out)
    return ex.Read(tile) if not tile.type.shape else tile


def write(c: Context, found: Access, x: Value, loc: Loc) -> None:
    """A tile of the access's shape to its region, or to where ids choose."""
    tile = found.taken(c, x)
    if found.ids:
        c.emit.emit(ins.Scatter(found.region, tile, found.ids, found.axes, loc=loc))
    else:
        c.emit.emit(ins.Store(found.region, tile, loc=loc))


def check_same_shape(found: tuple[int, ...], wanted: tuple[int, ...], loc: Loc) -> None:
    """A tile that is written must broadcast to the region."""
    wide = (1,) * (len(wanted) - len(found)) + found
    if len(found) > len(wanted) or any(a not in (1, b) for a, b in zip(wide, wanted, strict=True)):
        fail(
            "DSL0223",
            f"a tile {shape_text(found)} does not fit a region {shape_text(wanted)}",
            loc,
            hint="give both the same sizes; what is 1 in the tile may be larger in the region",
        )
