"""Buffers in a core's memory: slices that move, elements by number, additions.

A slice whose bounds are proved is a part of the buffer, wherever it begins. Of any other each element
is looked at: what lies outside reads as the fill, and is not written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from dslc.codegen.aie.compute.arithmetic import binary
from dslc.codegen.aie.compute.casts import converted
from dslc.codegen.aie.compute.emission import Emission, Stored
from dslc.codegen.aie.compute.filling import chunk, fill
from dslc.codegen.aie.compute.idle import depends
from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.compute.scalars import index, scalar
from dslc.codegen.aie.dtypes import element
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.dtypes import I32
from dslc.compiler.ir import AxisSlice, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.indexed import Indexed, first_id_axis, ids_shape
from dslc.compiler.ir.instructions import Stmt


def load(e: Emission, stmt: ins.Load) -> None:
    """A copy of a slice: later stores to the buffer must not be seen."""
    out = stmt.out
    buffer = e.buffer(out.name or "t", out.type.dtype, out.type.shape)
    part = _part(e, stmt, stmt.region)
    if part is not None:
        e.held[out] = part
        fill(e, out, buffer)
    else:
        with _elements(e, out.type.shape, 1) as at:
            place, inside = _place(e, stmt, stmt.region, at)
            other = stmt.other or ex.Const(0, out.type.dtype)
            fill_value = scalar(e, stmt, other)
            e.store(_read(e, stmt.region, place, inside, fill_value, 1), buffer, at, 1)
    e.held[out] = buffer


def store(e: Emission, stmt: ins.Store) -> None:
    """A tile into a slice."""
    part = _part(e, stmt, stmt.region) if stmt.where is None else None
    if part is not None:
        fill(e, stmt.x, part)
        return
    with _elements(e, stmt.x.type.shape, 1) as at:
        place, inside = _place(e, stmt, stmt.region, at)
        if stmt.where is not None:
            held = e.pull(stmt.where, at, 1)
            inside = (
                held if inside is None else e.out.op(f"arith.andi {inside}, {held} : i1", "inside")
            )
        with _only(e, inside):
            _write(e, stmt.region, place, e.pull(stmt.x, at, 1), 1)


def atomic_rmw(e: Emission, stmt: ins.AtomicRmw) -> None:
    """A core is alone with its memory: what stands there, and then what it becomes."""
    x, out, dtype = stmt.x, stmt.out, stmt.x.type.dtype
    before = None if out is None else e.buffer(out.name or "old", dtype, out.type.shape)
    with _elements(e, x.type.shape, 1) as at:
        place, inside = _row(e, stmt, at)
        zero = e.out.constant(0, element(dtype))
        old = _read(e, stmt.region, place, inside, zero, 1)
        if before is not None:
            e.store(old, before, at, 1)
        with _only(e, inside):
            new = e.pull(x, at, 1)
            if stmt.op not in ("exchange", "cas"):
                new = binary(e, stmt, stmt.op, old, new, dtype, 1)
            elif stmt.expected is not None:
                same = binary(e, stmt, "eq", old, e.pull(stmt.expected, at, 1), dtype, 1)
                new = e.out.op(f"arith.select {same}, {new}, {old} : {element(dtype)}", "new")
            _write(e, stmt.region, place, new, 1)
    if out is not None and before is not None:
        e.held[out] = before


def gather(e: Emission, stmt: ins.Gather) -> None:
    """Rows by number; those that are not there are zeros."""
    out, dtype = stmt.out, stmt.out.type.dtype
    gathered = e.buffer(out.name or "rows", dtype, out.type.shape)
    lanes = _row_lanes(e, stmt, out, gathered)
    with _elements(e, out.type.shape, lanes) as at:
        place, inside = _row(e, stmt, at)
        zero = e.out.constant(0, vector(lanes, element(dtype)))
        e.store(_read(e, stmt.region, place, inside, zero, lanes), gathered, at, lanes)
    e.held[out] = gathered


def scatter(e: Emission, stmt: ins.Scatter) -> None:
    """Rows to their numbers; those out of range are dropped."""
    lanes = _row_lanes(e, stmt, stmt.x, None)
    with _elements(e, stmt.x.type.shape, lanes) as at:
        place, inside = _row(e, stmt, at)
        with _only(e, inside):
            _write(e, stmt.region, place, e.pull(stmt.x, at, lanes), lanes)


def _part(e: Emission, stmt: Stmt, region: Region) -> Stored | None:
    """The slice as it lies in the buffer; None where an element may lie outside."""
    whole = e.memories[region.memory]
    axes = zip(region.axes, region.memory.shape, strict=True)
    if not all(_is_inside(e, axis, extent) for axis, extent in axes):
        return None
    offset = Index() + whole.offset
    for axis, stride in zip(region.axes, whole.strides, strict=True):
        offset = offset + index(e, stmt, axis.start) * stride
    pairs = zip(region.axes, whole.strides, strict=True)
    strides = tuple(a.step * n for a, n in pairs if not a.dropped)
    return replace(whole, shape=region.shape, strides=strides, offset=offset)


def _is_inside(e: Emission, axis: AxisSlice, extent: ex.Expr) -> bool:
    start, size = constant(axis.start), constant(extent)
    if start is None or size is None:
        return not axis.checked and not (e.idle and depends(axis.start, e.idle))
    return start >= 0 and start + (axis.size - 1) * axis.step < size


def _place(
    e: Emission, stmt: Stmt, region: Region, at: tuple[Index, ...]
) -> tuple[Index, str | None]:
    """Where an element of a slice lies, and where that is not proved the flag whether it does."""
    whole = e.memories[region.memory]
    given = iter(at)
    total, inside = Index() + whole.offset, None
    for axis, stride, extent in zip(region.axes, whole.strides, region.memory.shape, strict=True):
        here = index(e, stmt, axis.start)
        if not axis.dropped:
            here = here + next(given) * axis.step
        if not _is_inside(e, axis, extent):
            inside = _within(e, here, int(constant(extent) or 0), inside)
        total = total + here * stride
    return total, inside


def _row(e: Emission, stmt: Indexed, at: tuple[Index, ...]) -> tuple[Index, str | None]:
    """Where an element lies that ids choose: they stand where the first of their axes does."""
    axes, whole = list(stmt.region.axes), e.memories[stmt.region.memory]
    rank = len(ids_shape(stmt))
    before = first_id_axis(stmt.region, stmt.axes) if stmt.axes else 0
    chosen, inside = Index(), None
    for axis, ids in zip(stmt.axes, stmt.ids, strict=True):
        number = e.pull(ids, at[before : before + rank], 1)
        number = converted(e, stmt, number, ids.type.dtype, I32, 1)
        row = Index(((e.out.op(f"arith.index_cast {number} : i32 to index", "row"), 1),))
        row = row + index(e, stmt, axes[axis].start)
        inside = _within(e, row, int(constant(stmt.region.memory.shape[axis]) or 0), inside)
        chosen = chosen + row * whole.strides[axis]
        axes[axis] = replace(axes[axis], start=ex.index(0), dropped=True, checked=False)
    others = replace(stmt.region, axes=tuple(axes))
    place, more = _place(e, stmt, others, (*at[:before], *at[before + rank :]))
    if more is not None and inside is not None:
        more = e.out.op(f"arith.andi {inside}, {more} : i1", "inside")
    return place + chosen, more or inside


def _row_lanes(
    e: Emission, stmt: ins.Gather | ins.Scatter, tile: Value, target: Stored | None
) -> int:
    """The lanes of rows that are moved at once: of whole rows, along the last axis."""
    axes, shape = stmt.region.axes, tile.type.shape
    last = axes[-1]
    along = len(axes) - 1 not in stmt.axes and not last.dropped and last.step == 1
    if not (along and _is_inside(e, last, stmt.region.memory.shape[-1])):
        return 1
    if target is None:
        return chunk(e, tile, shape[-1])
    widest = max(1, 64 // max(1, tile.type.dtype.bits // 8))
    return next(n for n in (64, 32, 16, 8, 4, 2, 1) if n <= widest and shape[-1] % n == 0)


def _within(e: Emission, at: Index, extent: int, others: str | None) -> str:
    """Whether an index is one of an axis, and the other flags hold."""
    place, zero = e.out.index(at), e.out.constant(0, "index")
    end = e.out.constant(extent, "index")
    within = e.out.op(f"arith.cmpi sge, {place}, {zero} : index", "after")
    below = e.out.op(f"arith.cmpi slt, {place}, {end} : index", "below")
    within = e.out.op(f"arith.andi {within}, {below} : i1", "inside")
    return within if others is None else e.out.op(f"arith.andi {within}, {others} : i1", "inside")


def _read(
    e: Emission, region: Region, place: Index, inside: str | None, other: str, lanes: int
) -> str:
    """Lanes of a buffer, or the other where they lie outside: nothing is read there."""
    whole = e.memories[region.memory]
    flat = replace(whole, shape=(whole.count,), strides=(1,), offset=0)
    if inside is None:
        return e.load(flat, (place,), lanes)
    zero = e.out.constant(0, "index")
    safe = e.out.op(f"arith.select {inside}, {e.out.index(place)}, {zero} : index", "safe")
    there = e.load(flat, (Index(((safe, 1),)),), lanes)
    kind = vector(lanes, element(whole.dtype))
    return e.out.op(f"arith.select {inside}, {there}, {other} : {kind}", "read")


def _write(e: Emission, region: Region, place: Index, value: str, lanes: int) -> None:
    whole = e.memories[region.memory]
    flat = replace(whole, shape=(whole.count,), strides=(1,), offset=0)
    e.store(value, flat, (place,), lanes)


@contextmanager
def _only(e: Emission, inside: str | None) -> Iterator[None]:
    """What is done where the flag holds."""
    if inside is None:
        yield
        return
    e.out.line(f"scf.if {inside} {{")
    with e.out.scope(), e.forgetting():
        yield
    e.out.line("}")


@contextmanager
def _elements(e: Emission, shape: tuple[int, ...], lanes: int) -> Iterator[tuple[Index, ...]]:
    """Loops over a tile's elements, so many at once along the last axis."""
    with ExitStack() as loops:
        if not shape:
            loops.enter_context(e.forgetting())
            yield ()
            return
        counts = (*shape[:-1], shape[-1] // lanes)
        at = [e.out.at(loops.enter_context(e.loop(n))) for n in counts]
        at[-1] = at[-1] * lanes
        yield tuple(at)
