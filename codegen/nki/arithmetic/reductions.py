"""Reductions and prefix sums along a partition, and sums over partitions by a product with ones."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from dslc.codegen.nki.arithmetic.combining import combine, wrap
from dslc.codegen.nki.arithmetic.moments import moment
from dslc.codegen.nki.emission import At, Emission, Emit
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.products.product_pieces import accumulate
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, F32, I32
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.placement import layout_of, normal
from dslc.compiler.targets.nki import MOVING

_OPS = {
    "sum": "nl.add",
    "max": "nl.maximum",
    "min": "nl.minimum",
    "any": "nl.maximum",
    "all": "nl.minimum",
}


def reduce(e: Emission, stmt: ins.Reduce) -> None:
    """Over one axis."""
    if stmt.op in ins.MOMENTS:
        moment(e, stmt)
        return
    x = e.held(stmt.x)
    if x.constant is not None:
        x = e.tensors(x)
    if x.place.axis == stmt.axis and x.place != e.place(stmt.out):
        _over_partitions(e, stmt, x)
    elif stmt.op in ("argmax", "argmin"):
        _position(e, stmt, x)
    elif stmt.x.type.dtype.is_integer:
        _exactly(e, stmt, x)
    else:
        out = e.result(stmt.out)
        _along(e, out, x, stmt.axis, _OPS[stmt.op])


def _along(e: Emission, made: TileValue, x: TileValue, axis: int, op: str) -> None:
    """The axis last in the order of reading, then one instruction a chunk."""
    with e.filled(made) as at:
        data, axes = _axis_last(e, x, axis, at)
        e.call("tensor_reduce", dst=e.text(made, at), op=op, data=data, axis=axes)


def _exactly(e: Emission, stmt: ins.Reduce, x: TileValue) -> None:
    """Integers, by halves: GpSimd adds and compares 32 bits exactly, a whole reduction does not."""
    dtype, axis = stmt.x.type.dtype, stmt.axis
    wide = dtype if dtype.bits == 32 else I32
    kept = e.like(x, x.name, wide)
    copy(e, kept, x)
    count = x.shape[axis]
    while count > 1:
        half = count // 2
        step = kept.strides[axis]
        shape = (*kept.shape[:axis], half, *kept.shape[axis + 1 :])
        with e.over(kept) as at:
            first = e.text(replace(kept, shape=shape), at)
            second = e.text(replace(kept, shape=shape, offset=(count - half) * step), at)
            e.call(
                "tensor_tensor",
                dst=first,
                data1=first,
                data2=second,
                op=_OPS[stmt.op],
                engine="nisa.engine.gpsimd",
            )
        count -= half
    dropped = [i for i in range(len(x.shape)) if i != axis or stmt.keepdims]
    strides = tuple(kept.strides[i] for i in dropped)
    extreme = replace(kept, shape=stmt.out.type.shape, place=e.place(stmt.out), strides=strides)
    if wide == dtype:
        e.values[stmt.out] = extreme
    else:
        e.values[stmt.out] = wrap(e, e.tensors(extreme), dtype)


def _axis_last(e: Emission, x: TileValue, axis: int, at: At) -> tuple[str, str]:
    """The elements as [rows, the others, the axis], and the number of the last one."""
    others = [(x.strides[i], x.shape[i]) for i in x.free if i != axis and x.shape[i] > 1]
    mine = (x.strides[axis], x.shape[axis])
    size = prod(x.extents)
    if not others and x.is_dense and len(x.extents) == 1:
        return e.text(x, at), "1"
    pairs = [f"[{size}, {at.rows}]", *(f"[{s}, {n}]" for s, n in (*others, mine))]
    offset = f", offset={x.offset}" if x.offset else ""
    text = f"{e.base(x, at)}.ap(pattern=[{', '.join(pairs)}]{offset})"
    return text, str(len(others) + 1)


def _over_partitions(e: Emission, stmt: ins.Reduce, x: TileValue) -> None:
    """A product with ones sums the partitions and has the sum on each of them."""
    x = e.in_sbuf(e.tensors(x))
    assert stmt.op == "sum"
    rows = min(128, x.rows)
    ones = e.tile("ones", x.dtype, (rows, 128), replace(x.place, axis=0))
    with e.filled(ones) as at:
        e.call("memset", dst=e.text(ones, at), value=1.0)
    out = e.result(stmt.out)
    width = prod(x.extents)
    with e.filled(out) as at:
        for start in range(0, width, MOVING):
            stop = min(width, start + MOVING)
            sums = e.out.name("sums")
            e.out.line(f"{sums} = {e.tensor(sums, 128, (stop - start,), 'nl.float32', psum=True)}")
            with e.over(x) as inner:
                used = f"{ones.name}[0:{inner.rows}, 0:128]"
                moving = _columns(e, x, inner, start, stop)
                first = "False" if inner.index is None else f"{e.names[inner.index]} > 0"
                e.call(
                    "nc_matmul",
                    dst=sums,
                    stationary=used,
                    moving=moving,
                    accumulate=accumulate(first),
                )
            e.call("tensor_copy", dst=_columns(e, out, at, start, stop), src=sums)


def _columns(e: Emission, held: TileValue, at: At, start: int, stop: int) -> str:
    """Elements start to stop of each partition of a dense tile."""
    if len(held.extents) == 1:
        return f"{e.base(held, at)}[0:{at.rows}, {start}:{stop}]"
    size = prod(held.extents)
    offset = f", offset={start}" if start else ""
    return f"{e.base(held, at)}.ap(pattern=[[{size}, {at.rows}], [1, {stop - start}]]{offset})"


def _position(e: Emission, stmt: ins.Reduce, x: TileValue) -> None:
    """The first place of the extreme: the least index among those that equal it."""
    x = e.tensors(x)
    dtype = stmt.x.type.dtype
    exact = dtype.is_integer and dtype.bits == 32  # f32 has 24 digits
    missed, places = (
        _missed_exactly(e, stmt) if exact else _missed(e, stmt, x),
        e.like(x, "places", F32),
    )
    count = x.shape[stmt.axis]
    with e.filled(places) as at:
        steps = [f"[{int(i == stmt.axis)}, {x.shape[i]}]" for i in x.free]
        e.call(
            "iota",
            dst=e.text(places, at),
            pattern=f"[{', '.join(steps)}]",
            offset=0,
            channel_multiplier=0,
        )
        e.call(
            "tensor_copy_predicated",
            dst=e.text(places, at),
            src=float(count),
            predicate=e.text(missed, at),
        )
    first = e.tile("first", F32, stmt.out.type.shape, e.place(stmt.out))
    _along(e, first, places, stmt.axis, "nl.minimum")
    copy(e, e.result(stmt.out), first)


def _missed(e: Emission, stmt: ins.Reduce, x: TileValue) -> TileValue:
    """Where an element is not the extreme of its row."""
    shape = (*x.shape[: stmt.axis], 1, *x.shape[stmt.axis + 1 :])
    extreme = e.tile("extreme", F32, shape, x.place)
    _along(e, extreme, x, stmt.axis, "nl.maximum" if stmt.op == "argmax" else "nl.minimum")
    strides = tuple(0 if i == stmt.axis else n for i, n in enumerate(extreme.strides))
    missed = e.like(x, "missed", BOOL)
    combine(e, missed, "nl.not_equal", x, replace(extreme, shape=x.shape, strides=strides))
    if not stmt.x.type.dtype.is_float:
        return missed
    number, not_there = e.like(x, "number", BOOL), e.like(x, "missed", BOOL)
    combine(e, number, "nl.equal", x, x)  # a NaN is the extreme where there is one
    combine(e, not_there, "nl.bitwise_and", missed, number)
    return not_there


def _missed_exactly(e: Emission, stmt: ins.Reduce) -> TileValue:
    """The same of integers that f32 has not."""
    x, place, axis = stmt.x, e.place(stmt.x), stmt.axis
    shape = (*x.type.shape[:axis], 1, *x.type.shape[axis + 1 :])
    narrow = TileType(x.type.dtype, shape, layout_of(normal(place, shape), shape))
    extreme, wide = Value(narrow, "extreme"), Value(x.type, "extreme")
    missed = Value(replace(x.type, dtype=BOOL), "missed")
    e.statement(ins.Reduce(extreme, "max" if stmt.op == "argmax" else "min", x, axis, True))
    e.statement(ins.Broadcast(wide, extreme))
    e.statement(ins.Binary(missed, "ne", x, wide))
    return e.tensors(e.held(missed))


def scan(e: Emission, stmt: ins.Scan) -> None:
    """Inclusive sums along a partition."""
    x = e.tensors(e.held(stmt.x))
    if len(x.free) == 1 and stmt.x.type.dtype.is_float:
        _running(e, stmt, x)
    else:
        _doubling(e, stmt, x)


def _running(e: Emission, stmt: ins.Scan, x: TileValue) -> None:
    """One instruction: each sum is the last one times 1 plus the next element."""
    ones = e.like(x, "ones", F32)
    with e.filled(ones) as at:
        e.call("memset", dst=e.text(ones, at), value=1.0)
    out = e.result(stmt.out)
    with e.filled(out) as at:
        e.call(
            "tensor_tensor_scan",
            dst=e.text(out, at),
            data0=e.text(ones, at),
            data1=e.text(x, at),
            initial=0.0,
            op0="nl.multiply",
            op1="nl.add",
        )


def _doubling(e: Emission, stmt: ins.Scan, x: TileValue) -> None:
    """Sums of 2, 4, 8, ... elements that end at each one (Hillis and Steele, 1986)."""
    dtype, axis = stmt.x.type.dtype, stmt.axis
    wide = F32 if dtype.is_float else dtype if dtype.bits == 32 else I32
    engine = None if dtype.is_float else "nisa.engine.gpsimd"
    sums = e.like(x, x.name, wide)
    copy(e, sums, x)
    count, step = x.shape[axis], 1
    while step < count:
        longer = e.like(sums, x.name)
        shape = (*x.shape[:axis], count - step, *x.shape[axis + 1 :])
        behind = step * sums.strides[axis]
        with e.filled(longer) as at:
            e.call("tensor_copy", dst=e.text(longer, at), src=e.text(sums, at))
            ends = replace(longer, shape=shape, offset=behind)
            e.call(
                "tensor_tensor",
                dst=e.text(ends, at),
                data1=e.text(replace(sums, shape=shape, offset=behind), at),
                data2=e.text(replace(sums, shape=shape), at),
                op="nl.add",
                engine=engine,
            )
        sums, step = longer, 2 * step
    if wide == dtype:
        e.values[stmt.out] = sums
    elif dtype.is_float:
        copy(e, e.result(stmt.out), sums)
    else:
        e.values[stmt.out] = wrap(e, sums, dtype)


EMITTERS: dict[type, Emit] = {ins.Reduce: reduce, ins.Scan: scan}
