"""Loads and stores: DMA transfers between HBM and the partitions, clipped at the edges of tensors.

A turn may reach past the end of a tensor. What lies there reads as 0 and is not written: the tile is
filled first, then the part of it that exists is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dslc.codegen.nki.bounds import is_not_negative
from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.emission import At, Emission, Emit
from dslc.codegen.nki.movement import buffers
from dslc.codegen.nki.movement.spreads import spread
from dslc.codegen.nki.movement.stacks import may_stack, stack
from dslc.codegen.nki.movement.strides import row_major, total
from dslc.codegen.nki.tile_values import PARTITIONS, Held, free_shape
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Memory, Region, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.passes.dynamic_values.dynamic_slices import is_counted


@dataclass(frozen=True, slots=True)
class Span:
    """What a transfer takes of one axis of a memory.

    `first` and `end` count elements of the tile's axis: from 0 up to its extent where nothing is
    clipped. `axis` is the tile's, None for one that is dropped.
    """

    axis: int | None
    start: ex.Expr
    step: int
    first: str
    end: str
    size: int | str
    clipped: bool


def load(e: Emission, stmt: ins.Load) -> None:
    """A tile from memory, by DMA."""
    made = e.result(stmt.out)
    if stmt.out in e.multiplied and may_stack(e, stmt.region, made):
        stack(e, stmt.region, made)
        return
    with e.filled(made) as at:
        read(e, stmt.region, made, at, stmt.other)


def read(
    e: Emission, region: Region, made: Held, at: At, other: ex.Expr | None = None,
    blank: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """Fill a chunk of a tile from a region; what does not exist by `other`, or as `blank` does."""
    if region.memory in e.on_chip:
        buffers.copy_rows(e, region, made, at, store=False)
        return
    tile = e.text(made, at)
    fill = filling(e, other)
    if made.place.run > 1:
        spread(e, region, made, tile, fill, store=False)
        return
    blank = blank or partial(e.call, "memset", dst=tile, value=fill)
    spans = _spans(e, region, made, at)
    if any(s.clipped and s.end == "0" for s in spans):
        blank()
        return
    short = [f"{_count(s)} < {s.size}" for s in spans if s.clipped]
    if short:
        with e.out.block(f"if {' or '.join(short)}"):
            blank()
    _copy(e, region.memory, made, at, spans, store=False)


def filling(e: Emission, other: ex.Expr | None) -> str:
    """What elements that do not exist read as; DSL0590 where only the machine knows it."""
    if other is None:
        return "0"
    if e.is_dynamic(other):
        raise error(
            "DSL0590",
            "a NeuronCore fills what is out of bounds by a number known when the kernel is traced",
            hint="compare positions with the extent, and choose by where",
        )
    return e.element(other)


def store(e: Emission, stmt: ins.Store) -> None:
    """A tile to memory, by DMA."""
    held = e.in_sbuf(e.tensors(e.held(stmt.x)))
    sliced = held.place.axis is None or any(a.checked and not a.dropped for a in stmt.region.axes)
    if sliced and held.extents != free_shape(held.place, held.shape):
        held = e.copied(held)  # reshaped: its tensors lack the axes that are sliced
    with e.over(held) as at:
        write(e, stmt.region, held, at)


def write(e: Emission, region: Region, held: Held, at: At) -> None:
    """Copy a chunk of a dense tile to a region."""
    if region.memory in e.on_chip:
        buffers.copy_rows(e, region, held, at, store=True)
        return
    if held.place.run > 1:
        spread(e, region, held, e.text(held, at), "0", store=True)
        return
    _copy(e, region.memory, held, at, _spans(e, region, held, at), store=True)


def add(e: Emission, stmt: ins.AtomicAdd) -> None:
    """region += x: one core runs all turns one after another, so that no other comes in between."""
    before, after = (Value(stmt.x.type, name) for name in ("before", "after"))
    held = e.result(before)
    with e.filled(held) as at:
        read(e, stmt.region, held, at)
    e.statement(ins.Binary(after, "add", before, stmt.x))
    held = e.in_sbuf(e.tensors(e.held(after)))
    with e.over(held) as at:
        write(e, stmt.region, held, at)
    if stmt.out is not None:
        e.rename(stmt.out, e.held(before))


def _spans(e: Emission, region: Region, held: Held, at: At) -> list[Span]:
    """The axes of the memory, with the clips that are needed written out."""
    found, axis = [], 0
    for a, extent in zip(region.axes, region.memory.shape, strict=True):
        mine = None if a.dropped else axis
        axis += not a.dropped
        start, size = a.start, a.size if mine is None else held.shape[mine]
        rows: int | str = size
        if mine is not None and mine == held.place.axis:
            rows = at.rows
            if at.index is not None:
                start = _plus(start, at.index, PARTITIONS * a.step)
        found.append(span_of(e, a, mine, simplify(start), rows, extent))
    return found


def span_of(
    e: Emission, a: AxisSlice, axis: int | None, start: ex.Expr, size: int | str, extent: ex.Expr
) -> Span:
    """One axis of a transfer, with the clip that it needs written out."""
    if a.checked and not e.beyond.isdisjoint(ex.free_vars(start)):
        return Span(axis, start, a.step, "0", "0", size, clipped=True)
    if e.is_dynamic(start) and not is_counted(start, e.dynamic):
        start = _registered(e, a, start)
    if not a.checked or e.is_dynamic(start):
        return Span(axis, start, a.step, "0", str(size), size, clipped=False)
    left = simplify(ex.Binary("sub", extent, start, INDEX))
    if is_not_negative(e, start):
        end = e.out.name("end")
        room = e.scalar(left)
        if a.step > 1:
            room = f"-(-({room}) // {a.step})"
        e.out.line(f"{end} = min({size}, {room})")
        return Span(axis, start, a.step, "0", end, size, clipped=True)
    e.needs.add("clipped")
    first, end = e.out.name("first"), e.out.name("end")
    e.out.line(f"{first}, {end} = clipped({e.scalar(start)}, {size}, {a.step}, {e.scalar(extent)})")
    return Span(axis, start, a.step, first, end, size, clipped=True)


def _registered(e: Emission, a: AxisSlice, start: ex.Expr) -> ex.Expr:
    """A start that is computed on the machine, in a register."""
    from dslc.codegen.nki.arithmetic.dynamic_scalars import register

    if a.checked:
        raise error(
            "DSL0590",
            "a slice that begins at a number read from a tile may reach out of its tensor, and a "
            "NeuronCore has no clip for it",
            hint="gather reads rows by numbers that may be out of range",
        )
    name = register(e, start, "start")
    var = ex.Var(f"${name}", INDEX)
    e.names[var] = name
    e.dynamic.add(var)
    return var


def _count(span: Span) -> str:
    """How many elements of the axis there are."""
    return span.end if span.first == "0" else f"{span.end} - {span.first}"


def _copy(
    e: Emission, memory: Memory, held: Held, at: At, spans: list[Span], *, store: bool
) -> None:
    """The transfer of what exists."""
    if any(s.clipped and s.end == "0" for s in spans):
        return
    guards = [f"{s.first} < {s.end}" for s in spans if s.clipped]
    if guards:
        with e.out.block(f"if {' and '.join(guards)}"):
            _transfer(e, memory, held, at, spans, store=store)
    else:
        _transfer(e, memory, held, at, spans, store=store)


def _transfer(
    e: Emission, memory: Memory, held: Held, at: At, spans: list[Span], *, store: bool
) -> None:
    if store and held.place.axis is None:
        _store_one(e, memory, held, spans)
        return
    tile = _tile_part(e, held, at, spans)
    kept = [s for s in spans if s.axis is not None]
    along = held.place.axis
    if not store and along is not None and _transposes(e, held, kept):
        e.call("dma_transpose", dst=tile, src=_slices(e, memory, spans), axes="(1, 0)")
        return
    in_order = along is not None and (not kept or kept[0].axis == along)
    text = _slices(e, memory, spans) if in_order else _pattern(e, memory, held, spans)
    dst, src = (text, tile) if store else (tile, text)
    e.call("dma_copy", dst=dst, src=src)


def _store_one(e: Emission, memory: Memory, held: Held, spans: list[Span]) -> None:
    """One of the equal partitions, to memory."""
    by_axis = {s.axis: s for s in spans if s.axis is not None}
    free = [f"{by_axis[i].first}:{by_axis[i].end}" for i in held.free] or ["0:1"]
    pattern = _pattern(e, memory, held, spans).replace(f"[[0, {PARTITIONS}]", "[[1, 1]", 1)
    e.call("dma_copy", dst=pattern, src=f"{held.name}[0:1, {', '.join(free)}]")


def _transposes(e: Emission, held: Held, kept: list[Span]) -> bool:
    """Whether the DMA engine transposes: a matrix of elements of two bytes, its columns in rows."""
    two_bytes = held.dtype.bits == 16
    plain = len(kept) == 2 and held.place.axis == 1 and all(s.step == 1 for s in kept)
    return e.engines.transposes and two_bytes and plain and held.shape[0] > 1


def _tile_part(e: Emission, held: Held, at: At, spans: list[Span]) -> str:
    """The elements of a chunk that are transferred."""
    if not any(s.clipped and s.axis is not None for s in spans):
        return e.text(held, at)
    by_axis = {s.axis: s for s in spans if s.axis is not None}
    rows = f"0:{at.rows}"
    if held.place.axis is not None:
        span = by_axis[held.place.axis]
        rows = f"{span.first}:{span.end}"
    free = [f"{by_axis[i].first}:{by_axis[i].end}" for i in held.free] or ["0:1"]
    return f"{e.base(held, at)}[{', '.join([rows, *free])}]"


def _slices(e: Emission, memory: Memory, spans: list[Span]) -> str:
    return f"{e.memories[memory]}[{', '.join(slice_of(e, s) for s in spans)}]"


def slice_of(e: Emission, span: Span) -> str:
    """The subscript of one axis of a memory."""
    if span.axis is None:
        return e.scalar(span.start)
    if e.is_dynamic(span.start):
        return f"nl.ds({e.scalar(span.start)}, {span.size})"
    first = _moved(e, span, span.first)
    if span.step == 1:
        return f"{first}:{_moved(e, span, span.end)}"
    last = _moved(e, span, span.end, back=span.step - 1)
    return f"{first}:{last}:{span.step}"


def _moved(e: Emission, span: Span, by: str, back: int = 0) -> str:
    """start + by * step - back."""
    if by.isdigit():
        return e.scalar(simplify(_plus(span.start, ex.index(int(by)), span.step, back)))
    start = e.scalar(simplify(_plus(span.start, ex.index(0), 1, back)))
    moved = by if span.step == 1 else f"{by} * {span.step}"
    if " if " in start or " or " in start or " and " in start:  # they bind less than a sum
        start = f"({start})"
    return moved if start == "0" else f"{start} + {moved}"


def _word(text: str) -> ex.Expr:
    return ex.index(int(text)) if text.lstrip("-").isdigit() else ex.Var(f"${text}", INDEX)


def _scalar_with(e: Emission, expr: ex.Expr) -> str:
    for var in ex.free_vars(expr):
        if var not in e.names and var.name.startswith("$"):
            e.names[var] = var.name[1:]
    return e.scalar(expr)


def _pattern(e: Emission, memory: Memory, held: Held, spans: list[Span]) -> str:
    """The elements in the order of the tile's partitions: strides and counts."""
    strides = row_major(memory)
    found: dict[int | None, str] = {}
    offset: ex.Expr = ex.index(0)
    for span, stride in zip(spans, strides, strict=True):
        start = simplify(_plus(span.start, _word(span.first), span.step))
        offset = total(offset, ex.Binary("mul", start, stride, INDEX))
        if span.axis is not None:
            step = simplify(ex.Binary("mul", stride, ex.index(span.step), INDEX))
            found[span.axis] = f"[{_scalar_with(e, step)}, {_count(span)}]"
    along = held.place.axis
    pairs = [f"[0, {PARTITIONS}]" if along is None else found[along]]
    pairs += [found[i] for i in held.free if i != along] or ["[1, 1]"]
    at = _scalar_with(e, simplify(offset))
    text = f", offset={at}" if at != "0" else ""
    return f"{e.memories[memory]}.ap(pattern=[{', '.join(pairs)}]{text})"


def _plus(x: ex.Expr, y: ex.Expr, times: int, minus: int = 0) -> ex.Expr:
    moved = total(x, ex.Binary("mul", y, ex.index(times), INDEX))
    return moved if minus == 0 else ex.Binary("sub", moved, ex.index(minus), INDEX)


def alloc(e: Emission, stmt: ins.Alloc) -> None:
    """A buffer of a turn: in SBUF, else in HBM, where it is read and written in any placement."""
    memory = stmt.memory
    assert memory.role is Role.BUFFER
    if buffers.lies_on_chip(e, memory):
        buffers.allocate(e, memory)
    else:
        scratch(e, memory)


def scratch(e: Emission, memory: Memory) -> None:
    """A tensor in HBM that the kernel keeps to itself."""
    shape = ", ".join(e.scalar(n) for n in memory.shape)
    if len(memory.shape) == 1:
        shape += ","
    name = e.memories[memory] = e.out.name(memory.name)
    e.out.line(f"{name} = nl.ndarray(({shape}), dtype={element(memory.dtype)}, buffer=nl.hbm)")


EMITTERS: dict[type, Emit] = {ins.Store: store, ins.AtomicAdd: add, ins.Alloc: alloc}
