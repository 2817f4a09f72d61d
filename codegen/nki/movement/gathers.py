"""Rows by index: each id goes to a register, which begins a transfer of its row within HBM.

An id out of range moves nothing: its flag is the number of iterations of a loop. The tile itself is
loaded from, or stored to, a tensor of HBM that the kernel keeps to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod

from dslc.codegen.nki.emission import Emission, Emit
from dslc.codegen.nki.movement.accesses import scratch, write
from dslc.codegen.nki.movement.spans import Span, registered, slices, span_of
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, I32, INDEX, DType
from dslc.compiler.ir import AxisSlice, Memory, Region, Role, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.index_arithmetic import div, mod
from dslc.compiler.ir.indexed import Indexed, first_id_axis, ids_shape
from dslc.compiler.passes.trainium.placement import EVERYWHERE, layout_of


@dataclass(frozen=True, slots=True)
class Place:
    """One place that ids choose: the region of the memory, and which of the ids' places it is."""

    region: Region
    first: int
    digits: tuple[ex.Expr, ...]

    def row(self, moved: Memory) -> Region:
        """What belongs to it of a tensor with the whole tile."""
        sizes = [int(n.value) for n in moved.shape if isinstance(n, ex.Const)]
        behind = self.first + len(self.digits)
        axes = [AxisSlice(ex.index(0), n, checked=False) for n in sizes]
        axes[self.first : behind] = [
            AxisSlice(d, 1, dropped=True, checked=False) for d in self.digits
        ]
        return Region(moved, tuple(axes))


def gather(e: Emission, stmt: ins.Gather) -> None:
    """Rows to a tensor of zeros, then that tensor as a tile."""
    moved = zeros_in(e, stmt.out)
    each_place(e, stmt, lambda place: _copied(e, place.region, place.row(moved), store=False))
    e.statement(ins.Load(stmt.out, whole(moved), loc=stmt.loc))


def scatter(e: Emission, stmt: ins.Scatter) -> None:
    """A tile to a tensor, then its rows to where the ids say."""
    moved = rows_of(e, stmt.x)
    each_place(e, stmt, lambda place: _copied(e, place.region, place.row(moved), store=True))


def zeros_in(e: Emission, out: Value) -> Memory:
    """A tensor of zeros of a tile's shape."""
    moved = _memory(e, out, "gathered")
    kept = e.tensors(e.constant(out, "0"))
    with e.over(kept) as at:
        write(e, whole(moved), kept, at)
    return moved


def rows_of(e: Emission, x: Value) -> Memory:
    """A tile as a tensor, whose rows can be reached one by one."""
    moved = _memory(e, x, "scattered")
    e.statement(ins.Store(whole(moved), x))
    return moved


def each_place(e: Emission, stmt: Indexed, act: Callable[[Place], None]) -> None:
    """What is done for each place that the ids choose, one after another, where it is in range."""
    shape = ids_shape(stmt)
    number = e.index_variable("i")
    rows, flags = _positions(e, stmt)
    with e.out.block(f"for {e.names[number]} in range({prod(shape)})"):
        at = f"0:1, {e.names[number]}:{e.names[number]} + 1"
        registers = []
        for name, held in (*(("row", r) for r in rows), ("flag", flags)):
            registers.append(e.out.name(name))
            e.out.line(f"{registers[-1]} = nisa.register_alloc()")
            e.out.line(f"nisa.register_load({registers[-1]}, {held.name}[{at}])")
        turn = e.out.name("move")
        with e.out.block(f"def {turn}(_)"):
            axes = list(stmt.region.axes)
            for axis, register in zip(stmt.axes, registers, strict=False):
                axes[axis] = AxisSlice(registered(e, register), 1, dropped=True, checked=False)
            region = Region(stmt.region.memory, tuple(axes))
            act(Place(region, first_id_axis(stmt.region, stmt.axes), _digits(number, shape)))
        e.out.line(f"nl.fori_loop(0, {registers[-1]}, {turn})")


def _positions(e: Emission, stmt: Indexed) -> tuple[list[TileValue], TileValue]:
    """The ids as rows of every partition, moved by the starts of slices; 1 where all are in range."""
    shape = ids_shape(stmt)
    place = layout_of(EVERYWHERE, shape)

    def tile(name: str, dtype: DType = I32) -> Value:
        return Value(TileType(dtype, shape, place), name)

    rows: list[Value] = []
    inside: Value | None = None
    none = tile("none")
    e.statement(ins.Full(none, ex.Const(0, I32)))
    for axis, ids in zip(stmt.axes, stmt.ids, strict=True):
        wide, start, moved, extent = tile("ids"), tile("start"), tile("rows"), tile("extent")
        low, high, both = (tile(name, BOOL) for name in ("low", "high", "inside"))
        e.statement(ins.Cast(wide, ids))
        e.statement(ins.Full(start, ex.Convert(stmt.region.axes[axis].start, I32)))
        e.statement(ins.Binary(moved, "add", wide, start))
        e.statement(ins.Full(extent, ex.Convert(stmt.region.memory.shape[axis], I32)))
        e.statement(ins.Binary(low, "ge", moved, none))
        e.statement(ins.Binary(high, "lt", moved, extent))
        e.statement(ins.Binary(both, "and", low, high))
        rows.append(moved)
        if inside is not None:
            every = tile("inside", BOOL)
            e.statement(ins.Binary(every, "and", inside, both))
            both = every
        inside = both
    flag = tile("flag")
    assert inside is not None
    e.statement(ins.Cast(flag, inside))
    flat = [_flat(e, e.tensors(e.held(v)), prod(shape)) for v in (*rows, flag)]
    return flat[:-1], flat[-1]


def _flat(e: Emission, held: TileValue, count: int) -> TileValue:
    if len(held.extents) == 1:
        return held
    name = e.out.name(held.name)
    e.out.line(f"{name} = {held.name}.reshape((128, {count}))")
    return replace(held, name=name, extents=(count,))


def _copied(e: Emission, there: Region, here: Region, *, store: bool) -> None:
    """One row within HBM: clipped on its other axes."""
    spans = [
        span_of(e, a, None if a.dropped else 0, a.start, a.size, extent)
        for a, extent in zip(there.axes, there.memory.shape, strict=True)
    ]
    kept = iter(s for s, a in zip(spans, there.axes, strict=True) if not a.dropped)
    own = [
        f"{e.scalar(a.start)}:{e.scalar(a.start)} + 1" if a.dropped else _own(next(kept))
        for a in here.axes
    ]
    row = f"{e.memories[here.memory]}[{', '.join(own)}]"
    tensor = slices(e, there.memory, spans)
    guards = [f"{s.first} < {s.end}" for s in spans if s.clipped]
    dst, src = (tensor, row) if store else (row, tensor)
    with e.out.block(f"if {' and '.join(guards)}") if guards else nullcontext():
        e.call("dma_copy", dst=dst, src=src)


def _own(span: Span) -> str:
    return f"{span.first}:{span.end}"


def _digits(number: ex.Var, shape: tuple[int, ...]) -> tuple[ex.Expr, ...]:
    """The index of an id within a tile of ids."""
    digits: list[ex.Expr] = []
    behind = 1
    for n in reversed(shape):
        digit = div(number, behind)
        digits.append(digit if n * behind == prod(shape) else mod(digit, n))
        behind *= n
    return tuple(digits[::-1])


def _memory(e: Emission, value: Value, name: str) -> Memory:
    shape = tuple(ex.index(n) for n in value.type.shape)
    memory = Memory(name, value.type.dtype, shape, Role.BUFFER)
    scratch(e, memory)
    return memory


def whole(memory: Memory) -> Region:
    """All of a tensor whose extents are numbers."""
    axes = tuple(
        AxisSlice(ex.Const(0, INDEX), int(n.value), checked=False)
        for n in memory.shape
        if isinstance(n, ex.Const)
    )
    return Region(memory, axes)


EMITTERS: dict[type, Emit] = {ins.Gather: gather, ins.Scatter: scatter}
