"""Reductions over one axis: chunks are combined lane by lane, and at the end the lanes."""

from __future__ import annotations

import math
from contextlib import ExitStack

from dslc.codegen.aie.compute.arithmetic import binary, compare, splat
from dslc.codegen.aie.compute.casts import computed_in, converted
from dslc.codegen.aie.compute.emission import Emission, Stored, refuse
from dslc.codegen.aie.compute.filling import chunk
from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.dtypes import element
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.dtypes import BF16, BOOL, F32, I32, DType
from dslc.compiler.ir import instructions as ins

_OPS = {"sum": "add", "max": "max", "min": "min", "any": "or", "all": "and"}
_PLACES = {"argmax": "gt", "argmin": "lt"}
_KINDS = {"add": "add", "max": "maximumf", "min": "minimumf", "or": "or", "and": "and"}


def reduce(e: Emission, stmt: ins.Reduce) -> None:
    """The result in a buffer of its own; bf16 is summed in f32, codes in bytes."""
    if stmt.op in _PLACES:
        _reduce_place(e, stmt)
        return
    if stmt.op not in _OPS:
        raise refuse(stmt, f"{stmt.op} has no code on an NPU")
    x, out = stmt.x, stmt.out
    buffer = e.buffer(out.name or "sum", out.type.dtype, out.type.shape)
    shape = x.type.shape
    axis = stmt.axis
    along_last = axis == len(shape) - 1
    lanes = chunk(e, x, shape[-1])
    with ExitStack() as loops:
        place: list[Index] = []
        for number, size in enumerate(shape):
            if number == axis:
                place.append(Index())
            elif number == len(shape) - 1:
                loop = loops.enter_context(e.loop(size // lanes))
                place.append(e.out.at(loop, lanes))
            else:
                place.append(e.out.at(loops.enter_context(e.loop(size))))
        total = _summed(e, stmt, place, lanes, along_last)
        kept = [i for n, i in enumerate(place) if n != axis]
        if len(out.type.shape) == len(shape):
            kept.insert(axis, Index())
        _store(e, stmt, total, buffer, tuple(kept), 1 if along_last else lanes)
    e.held[out] = buffer


def _summed(e: Emission, stmt: ins.Reduce, place: list[Index], lanes: int, along_last: bool) -> str:
    """The combination of one line: a scalar, or where lanes are other lines, a chunk."""
    dtype = stmt.x.type.dtype
    wide = _wide(dtype)
    kind = vector(lanes, element(wide))
    op = _OPS[stmt.op]
    step = lanes if along_last else 1
    size = stmt.x.type.shape[stmt.axis]
    first = e.out.constant(_neutral(op, wide), kind)
    with e.loop(size // step, ((first, kind),), "k") as loop:
        at = list(place)
        at[stmt.axis] = e.out.at(loop, step)
        x = e.pull(stmt.x, tuple(at), lanes)
        x = converted(e, stmt, x, dtype, wide, lanes)
        loop.yielded.append(binary(e, stmt, op, loop.carried[0].inner, x, wide, lanes))
    total = loop.results[0]
    if along_last and lanes > 1:
        total = e.out.op(
            f"vector.reduction <{_kind(op, wide)}>, {total} : {kind} into {element(wide)}", "total"
        )
    return total


def _store(
    e: Emission, stmt: ins.Reduce, total: str, made: Stored, at: tuple[Index, ...], lanes: int
) -> None:
    dtype = stmt.x.type.dtype
    total = converted(e, stmt, total, _wide(dtype), dtype, lanes)
    total = converted(e, stmt, total, dtype, stmt.out.type.dtype, lanes)
    e.store(total, made, at, lanes)


def _wide(dtype: DType) -> DType:
    """The type that a line is combined in."""
    return F32 if dtype == BF16 else computed_in(dtype)


def _kind(op: str, dtype: DType) -> str:
    if dtype.is_float or op in ("add", "or", "and"):
        return _KINDS[op]
    return f"{op}{'s' if dtype.is_signed else 'u'}i"


def _neutral(op: str, dtype: DType) -> float:
    if op in ("add", "or"):
        return 0
    if dtype == BOOL:
        return 1
    if dtype.is_float:
        return -math.inf if op == "max" else math.inf
    low, high = dtype.integer_range
    return low if op == "max" else high


def _lines(
    e: Emission, loops: ExitStack, shape: tuple[int, ...], axis: int, lanes: int
) -> list[Index]:
    """Loops over all axes but one: lines along it, so many at once where it is not the last."""
    place: list[Index] = []
    for number, size in enumerate(shape):
        step = lanes if number == len(shape) - 1 else 1
        counted = (
            Index() if number == axis else e.out.at(loops.enter_context(e.loop(size // step)), step)
        )
        place.append(counted)
    return place


def _reduce_place(e: Emission, stmt: ins.Reduce) -> None:
    """The first place of the greatest or least element along an axis."""
    x, out, axis, dtype = stmt.x, stmt.out, stmt.axis, stmt.x.type.dtype
    buffer = e.buffer(out.name or "place", I32, out.type.shape)
    shape = x.type.shape
    lanes = 1 if axis == len(shape) - 1 else chunk(e, x, shape[-1])
    kind, places = e.type(dtype, lanes), vector(lanes, "i32")
    flags = f"{vector(lanes, 'i1')}, " if lanes > 1 else ""
    with ExitStack() as loops:
        at = _lines(e, loops, shape, axis, lanes)
        first = e.pull(x, tuple(at), lanes)
        zero = e.out.constant(0, places)
        with e.loop(shape[axis] - 1, ((first, kind), (zero, places)), "k") as loop:
            best, where = (c.inner for c in loop.carried)
            here = list(at)
            here[axis] = e.out.at(loop) + 1
            candidate = e.pull(x, tuple(here), lanes)
            number = e.out.op(
                f"arith.index_cast {e.out.index(here[axis])} : index to i32", "number"
            )
            if dtype.is_float:  # the first NaN takes over and stays
                bits = vector(lanes, "i1")
                word = "ugt" if stmt.op == "argmax" else "ult"
                better = e.out.op(f"arith.cmpf {word}, {candidate}, {best} : {kind}", "beyond")
                known = e.out.op(f"arith.cmpf ord, {best}, {best} : {kind}", "known")
                better = e.out.op(f"arith.andi {better}, {known} : {bits}", "better")
            else:
                better = compare(e, _PLACES[stmt.op], candidate, best, dtype, kind)
            number = splat(e, number, "i32", lanes)
            loop.yielded += [
                e.out.op(f"arith.select {better}, {candidate}, {best} : {flags}{kind}", "best"),
                e.out.op(f"arith.select {better}, {number}, {where} : {flags}{places}", "place"),
            ]
        kept = [i for n, i in enumerate(at) if n != axis]
        if len(out.type.shape) == len(shape):
            kept.insert(axis, Index())
        e.store(loop.results[1], buffer, tuple(kept), lanes)
    e.held[out] = buffer


def scan(e: Emission, stmt: ins.Scan) -> None:
    """Prefix sums along an axis into a buffer; bf16 is summed in f32."""
    x, out, axis = stmt.x, stmt.out, stmt.axis
    buffer = e.buffer(out.name or "sums", out.type.dtype, out.type.shape)
    shape, dtype = x.type.shape, x.type.dtype
    wide = _wide(out.type.dtype)
    lanes = 1 if axis == len(shape) - 1 else chunk(e, x, shape[-1])
    kind = e.type(wide, lanes)
    with ExitStack() as loops:
        at = _lines(e, loops, shape, axis, lanes)
        with e.loop(shape[axis], ((e.out.constant(0, kind), kind),), "k") as loop:
            at[axis] = e.out.at(loop)
            number = converted(e, stmt, e.pull(x, tuple(at), lanes), dtype, wide, lanes)
            total = binary(e, stmt, "add", loop.carried[0].inner, number, wide, lanes)
            loop.yielded.append(total)
            e.store(
                converted(e, stmt, total, wide, out.type.dtype, lanes), buffer, tuple(at), lanes
            )
    e.held[out] = buffer
