"""Loads and stores: DMA transfers between HBM and the partitions, clipped at the edges of tensors.

A turn may reach past the end of a tensor. What lies there reads as 0 and is not written: the tile is
filled first, then the part of it that exists is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dslc.codegen.nki.dtypes import code_text, element, is_code
from dslc.codegen.nki.emission import At, Emission, Emit
from dslc.codegen.nki.movement import buffers
from dslc.codegen.nki.movement.spans import Span, count, pattern, plus, slices, span_of
from dslc.codegen.nki.movement.spreads import spread
from dslc.codegen.nki.movement.stacks import may_stack, stack
from dslc.codegen.nki.tile_values import PARTITIONS, TileValue, free_shape
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import AxisSlice, Memory, Region, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify


def load(e: Emission, stmt: ins.Load) -> None:
    """A tile from memory, by DMA."""
    out = e.result(stmt.out)
    if stmt.out in e.multiplied and may_stack(e, stmt.region, out):
        stack(e, stmt.region, out)
        return
    region = staged(e, stmt.region, out)
    with e.filled(out) as at:
        read(e, region, out, at, stmt.other)


def staged(e: Emission, region: Region, made: TileValue) -> Region:
    """What a load takes that begins at a register and is transposed on its way: a copy in HBM.

    By descriptors of the hardware, which a register needs, 16 rows at most are transposed.
    """
    rows = [a for a in region.axes if not a.dropped]
    moved = any(e.is_dynamic(a.start) for a in region.axes) and region.memory not in e.on_chip
    whole = not any(a.checked and not e.is_dynamic(a.start) for a in region.axes)
    free = all(e.beyond.isdisjoint(ex.free_vars(a.start)) for a in region.axes)
    two_bytes = made.dtype.bits == 16 and made.place.axis == 1 and made.place.run == 1
    if not (moved and whole and free and two_bytes and len(rows) == 2 and made.shape[0] > 1):
        return region
    if not e.engines.transposes or any(a.step != 1 for a in rows):
        return region
    shape = tuple(ex.index(a.size) for a in rows)
    memory = Memory("staged", made.dtype, shape, Role.BUFFER)
    scratch(e, memory)
    spans = [
        span_of(e, a, None if a.dropped else 0, a.start, a.size, extent)
        for a, extent in zip(region.axes, region.memory.shape, strict=True)
    ]
    e.call("dma_copy", dst=e.memories[memory], src=slices(e, region.memory, spans))
    axes = tuple(AxisSlice(ex.index(0), a.size, checked=False) for a in rows)
    return Region(memory, axes)


def read(
    e: Emission,
    region: Region,
    made: TileValue,
    at: At,
    other: ex.Expr | None = None,
    blank: Callable[[], None] | None = None,
) -> None:
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
    short = [f"{count(s)} < {s.size}" for s in spans if s.clipped]
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
    if is_code(other.dtype):
        known = constant(other)
        if known is None:
            raise error(
                "DSL0590",
                f"a NeuronCore fills what is out of bounds by no scalar of {other.dtype}",
                hint="write the number, or cast what is read and choose by where",
            )
        return code_text(float(known), other.dtype)
    return e.element(other)


def store(e: Emission, stmt: ins.Store) -> None:
    """A tile to memory, by DMA."""
    held = e.in_sbuf(e.tensors(e.held(stmt.x)))
    sliced = held.place.axis is None or any(a.checked and not a.dropped for a in stmt.region.axes)
    if sliced and held.extents != free_shape(held.place, held.shape):
        held = e.copied(held)  # reshaped: its tensors lack the axes that are sliced
    with e.over(held) as at:
        write(e, stmt.region, held, at)


def write(e: Emission, region: Region, held: TileValue, at: At) -> None:
    """Copy a chunk of a dense tile to a region."""
    if region.memory in e.on_chip:
        buffers.copy_rows(e, region, held, at, store=True)
        return
    if held.place.run > 1:
        spread(e, region, held, e.text(held, at), "0", store=True)
        return
    _copy(e, region.memory, held, at, _spans(e, region, held, at), store=True)


def _spans(e: Emission, region: Region, held: TileValue, at: At) -> list[Span]:
    """The axes of the memory, with the clips that are needed written out."""
    spans, axis = [], 0
    for a, extent in zip(region.axes, region.memory.shape, strict=True):
        mine = None if a.dropped else axis
        axis += not a.dropped
        start, size = a.start, a.size if mine is None else held.shape[mine]
        rows: int | str = size
        if mine is not None and mine == held.place.axis:
            rows = at.rows
            if at.index is not None:
                start = plus(start, at.index, PARTITIONS * a.step)
        spans.append(span_of(e, a, mine, simplify(start), rows, extent))
    return spans


def _copy(
    e: Emission, memory: Memory, held: TileValue, at: At, spans: list[Span], *, store: bool
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
    e: Emission, memory: Memory, held: TileValue, at: At, spans: list[Span], *, store: bool
) -> None:
    if store and held.place.axis is None:
        _store_one(e, memory, held, spans)
        return
    tile = _tile_part(e, held, at, spans)
    kept = [s for s in spans if s.axis is not None]
    along = held.place.axis
    if not store and along is not None and _transposes(e, held, kept, spans):
        e.call("dma_transpose", dst=tile, src=slices(e, memory, spans), axes="(1, 0)")
        return
    in_order = along is not None and (not kept or kept[0].axis == along)
    text = slices(e, memory, spans) if in_order else pattern(e, memory, held, spans)
    dst, src = (text, tile) if store else (tile, text)
    e.call("dma_copy", dst=dst, src=src)


def _store_one(e: Emission, memory: Memory, held: TileValue, spans: list[Span]) -> None:
    """One of the equal partitions, to memory."""
    by_axis = {s.axis: s for s in spans if s.axis is not None}
    free = [f"{by_axis[i].first}:{by_axis[i].end}" for i in held.free] or ["0:1"]
    text = pattern(e, memory, held, spans).replace(f"[[0, {PARTITIONS}]", "[[1, 1]", 1)
    e.call("dma_copy", dst=text, src=f"{held.name}[0:1, {', '.join(free)}]")


def _transposes(e: Emission, held: TileValue, kept: list[Span], spans: list[Span]) -> bool:
    """Whether the DMA engine transposes: a matrix of elements of two bytes, its columns in rows.

    From a place that a register tells it transposes 16 rows at most (staging.py).
    """
    two_bytes = held.dtype.bits == 16
    plain = len(kept) == 2 and held.place.axis == 1 and all(s.step == 1 for s in kept)
    known = not any(e.is_dynamic(s.start) for s in spans)
    return e.engines.transposes and two_bytes and plain and held.shape[0] > 1 and known


def _tile_part(e: Emission, held: TileValue, at: At, spans: list[Span]) -> str:
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


EMITTERS: dict[type, Emit] = {ins.Store: store, ins.Alloc: alloc}
