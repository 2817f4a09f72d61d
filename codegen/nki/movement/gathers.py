"""Rows by index: each id goes to a register, which begins a transfer of its row within HBM.

An id out of range moves nothing: its flag is the number of iterations of a loop. The tile itself is
loaded from, or stored to, a tensor of HBM that the kernel keeps to itself.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from dslc.codegen.nki.emission import Emission, Emit
from dslc.codegen.nki.movement.accesses import scratch, write
from dslc.codegen.nki.movement.spans import Span, registered, slices, span_of
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import AxisSlice, Memory, Region, Role, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.placement import EVERYWHERE, layout_of


def gather(e: Emission, stmt: ins.Gather) -> None:
    """Rows to a tensor of zeros, then that tensor as a tile."""
    moved = _memory(e, stmt.out, "gathered")
    zeros = e.constant(stmt.out, "0")
    kept = e.tensors(zeros)
    with e.over(kept) as at:
        write(e, _whole(moved), kept, at)
    _move(e, stmt.region, stmt.ids, stmt.axis, moved, store=False)
    e.statement(ins.Load(stmt.out, _whole(moved), loc=stmt.loc))


def scatter(e: Emission, stmt: ins.Scatter) -> None:
    """A tile to a tensor, then its rows to where the ids say."""
    moved = _memory(e, stmt.x, "scattered")
    e.statement(ins.Store(_whole(moved), stmt.x, loc=stmt.loc))
    _move(e, stmt.region, stmt.ids, stmt.axis, moved, store=True)


def _move(
    e: Emission, region: Region, ids: Value, axis: int, moved: Memory, *, store: bool
) -> None:
    """One transfer for each id."""
    first = sum(not a.dropped for a in region.axes[:axis])
    number = e.index_variable("i")
    count = prod(ids.type.shape)
    rows, flags = _positions(e, region, ids, axis)
    with e.out.block(f"for {e.names[number]} in range({count})"):
        at = f"0:1, {e.names[number]}:{e.names[number]} + 1"
        row, flag = e.out.name("row"), e.out.name("flag")
        for name, held in ((row, rows), (flag, flags)):
            e.out.line(f"{name} = nisa.register_alloc()")
            e.out.line(f"nisa.register_load({name}, {held.name}[{at}])")
        turn = e.out.name("move")
        with e.out.block(f"def {turn}(_)"):
            _transfer(e, region, ids, axis, moved, first, e.names[number], row, store=store)
        e.out.line(f"nl.fori_loop(0, {flag}, {turn})")


def _positions(e: Emission, region: Region, ids: Value, axis: int) -> tuple[TileValue, TileValue]:
    """The ids as a row of every partition, moved by the start of the slice; 1 for those in range."""
    shape = ids.type.shape
    place = layout_of(EVERYWHERE, shape)

    def tile(name: str, bits: object = I32) -> Value:
        return Value(TileType(BOOL if bits is BOOL else I32, shape, place), name)

    wide, start, moved = tile("ids"), tile("start"), tile("rows")
    low, high, inside, flag = (
        tile("low", BOOL),
        tile("high", BOOL),
        tile("inside", BOOL),
        tile("flag"),
    )
    none, extent = tile("none"), tile("extent")
    e.statement(ins.Cast(wide, ids))
    e.statement(ins.Full(start, ex.Convert(region.axes[axis].start, I32)))
    e.statement(ins.Binary(moved, "add", wide, start))
    e.statement(ins.Full(none, ex.Const(0, I32)))
    e.statement(ins.Full(extent, ex.Convert(region.memory.shape[axis], I32)))
    e.statement(ins.Binary(low, "ge", moved, none))
    e.statement(ins.Binary(high, "lt", moved, extent))
    e.statement(ins.Binary(inside, "and", low, high))
    e.statement(ins.Cast(flag, inside))
    tiles = [e.tensors(e.held(v)) for v in (moved, flag)]
    flat = [_flat(e, held, prod(shape)) for held in tiles]
    return flat[0], flat[1]


def _flat(e: Emission, held: TileValue, count: int) -> TileValue:
    if len(held.extents) == 1:
        return held
    name = e.out.name(held.name)
    e.out.line(f"{name} = {held.name}.reshape((128, {count}))")
    return replace(held, name=name, extents=(count,))


def _transfer(
    e: Emission, region: Region, ids: Value, axis: int, moved: Memory, first: int, number: str,
    row: str, *, store: bool,
) -> None:  # fmt: skip
    """One row: clipped on its other axes."""
    spans = [
        span_of(e, a, None if a.dropped else 0, a.start, a.size, extent)
        for i, (a, extent) in enumerate(zip(region.axes, region.memory.shape, strict=True))
        if i != axis
    ]
    outer = list(spans)
    outer.insert(axis, Span(0, registered(e, row), 1, "0", "1", 1, clipped=False))
    tensor = slices(e, region.memory, outer)
    kept = [
        s for i, s in enumerate(_with_gap(spans, axis)) if i != axis and not region.axes[i].dropped
    ]
    shape = ids.type.shape
    digits = _digits(number, shape)
    inner = [_own(s) if s is not None else "" for s in kept]
    inner[first:first] = [f"{d}:{d} + 1" for d in digits]
    row_text = f"{e.memories[moved]}[{', '.join(inner)}]"
    guards = [f"{s.first} < {s.end}" for s in spans if s.clipped]
    dst, src = (tensor, row_text) if store else (row_text, tensor)
    if guards:
        with e.out.block(f"if {' and '.join(guards)}"):
            e.call("dma_copy", dst=dst, src=src)
    else:
        e.call("dma_copy", dst=dst, src=src)


def _with_gap(spans: list[Span], axis: int) -> list[Span | None]:
    wider: list[Span | None] = list(spans)
    wider.insert(axis, None)
    return wider


def _own(span: Span) -> str:
    return f"{span.first}:{span.end}"


def _digits(number: str, shape: tuple[int, ...]) -> list[str]:
    """The index of an id within a tile of ids."""
    digits, behind = [], 1
    for n in reversed(shape):
        text = number if behind == 1 else f"{number} // {behind}"
        digits.append(text if n * behind == prod(shape) else f"({text}) % {n}")
        behind *= n
    return digits[::-1]


def _memory(e: Emission, value: Value, name: str) -> Memory:
    shape = tuple(ex.index(n) for n in value.type.shape)
    memory = Memory(name, value.type.dtype, shape, Role.BUFFER)
    scratch(e, memory)
    return memory


def _whole(memory: Memory) -> Region:
    axes = tuple(
        AxisSlice(ex.Const(0, INDEX), int(n.value), checked=False)
        for n in memory.shape
        if isinstance(n, ex.Const)
    )
    return Region(memory, axes)


EMITTERS: dict[type, Emit] = {ins.Gather: gather, ins.Scatter: scatter}
