"""Sums, extremes, their places, prefixes: along lanes or along another axis.

Along the last axis an accumulator of several registers takes chunk after chunk and is folded at the
end; along another one each chunk of the result has an accumulator of its own. Of equal extremes the
first counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.constants import indices
from dslc.codegen.aarch64.chunks.conversions import (
    cast,
    for_memory,
    number,
    rounded,
    wrapped,
)
from dslc.codegen.aarch64.chunks.elementwise import compared
from dslc.codegen.aarch64.chunks.formats import F32, MASKS, SIGNED, Format, Lanes, computed, select
from dslc.codegen.aarch64.chunks.lane_formats import as_format
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.memory.nests import nest
from dslc.codegen.aarch64.memory.transfer import gather_register, store_lanes
from dslc.codegen.aarch64.refusals import unsupported
from dslc.codegen.aarch64.statements import in_registers, scratch_for
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import each, lanes_for
from dslc.compiler.dtypes import BOOL, DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_OPS = {"sum": "add", "max": "max", "min": "min", "any": "or", "all": "and"}
_PLACES = {"argmax": "gt", "argmin": "lt"}


def reduce(e: Emission, i: ins.Reduce) -> None:
    """The result goes to scratch memory."""
    shape, axis = i.x.type.shape, i.axis % i.x.type.rank
    result = scratch_for(e, i.out)
    rest = (*shape[:axis], *shape[axis + 1 :])
    last = axis == len(shape) - 1
    held = in_registers(e, i.x)
    lanes = 1 if last or not rest else lanes_for(rest[-1])

    def place(at: At) -> None:
        reduced = _along(e, i.op, i.x, at, axis, unroll=held)
        out = at.with_axis(axis, Linear()) if i.keepdims else at
        if i.op == "sum":
            reduced = finish(e, reduced, i.out.type.dtype)
        store_lanes(e, result, out, for_memory(e, reduced, i.out.type.dtype))

    nest(e, rest, lanes, place, unroll=held)
    e.settle(i.out, result)


def _along(e: Emission, op: str, x: Value, at: At, axis: int, *, unroll: bool) -> Lanes:
    """The chunk `at` of the reduction along an axis; of several lanes if `at` has several."""
    extent, dtype = x.type.shape[axis], x.type.dtype
    per = lanes_for(extent) if at.count == 1 else 1
    step = _place_step if op in _PLACES else _step
    state = _start(e, op, dtype, max(per, at.count))

    def take(n: int, here: Linear) -> None:
        if at.count > 1:
            chunk = at.with_axis(axis, here)
        else:
            (lane,) = at.lanes
            base = (*at.base[:axis], here, *at.base[axis:])
            chunk = At(base, tuple((*lane[:axis], k, *lane[axis:]) for k in range(n)))
        step(e, op, dtype, state, e.pull(x, chunk), here, n)

    if unroll:
        for k in range(extent // per):
            take(per, Linear(constant=k * per))
    else:
        each(e, ex.index(0), ex.index(extent // per * per), per, lambda here: take(per, here))
    if at.count > 1:
        return state[-1]
    folded = _fold(e, op, dtype, state)
    done = extent // per * per
    while done < extent:
        # What is left is taken element by element into the folded state.
        single = [Lanes((e.s.copy(s.regs[0]),), s.format, 1) for s in folded]
        state[:] = single
        take(1, Linear(constant=done))
        folded = list(state)
        done += 1
    return folded[-1]


def _start(e: Emission, op: str, dtype: DType, count: int) -> list[Lanes]:
    """The accumulators: of an extreme's place its value, then the place."""
    form = computed(dtype)
    regs = -(-count // form.lanes)
    values = Lanes(tuple(e.s.copy(_identity(e, op, dtype, form)) for _ in range(regs)), form, count)
    if op not in _PLACES:
        return [values]
    number_of = -(-count // 4)
    where = tuple(e.s.copy(e.s.splat(0, 32)) for _ in range(number_of))
    return [values, Lanes(where, SIGNED[32], count)]


def _identity(e: Emission, op: str, dtype: DType, form: Format) -> Reg:
    s = e.s
    least = op in ("max", "argmax")
    if op in ("sum", "any"):
        return s.splat(0, 8)
    if op == "all" or dtype.kind is Kind.BOOL:
        return s.splat(0 if least else 0xFF, 8)
    if form == F32:
        return s.splat_float(-math.inf if least else math.inf)
    if form.kind == "f":
        import struct

        return s.literal(struct.pack("<d", -math.inf if least else math.inf) * 2)
    low, high = dtype.integer_range
    return s.splat(low if least else high, form.bits)


def _step(
    e: Emission, op: str, dtype: DType, state: list[Lanes], x: Lanes, here: Linear, n: int
) -> None:
    values = state[0]
    x = _numbers(e, x, dtype, values.format, op)
    e.s.forget("format")  # of accumulators, which change
    for acc, reg in zip(values.regs, x.regs, strict=True):
        text = _instruction(op, values.format)
        if text is None:
            greater = compared(e, "gt", _one(acc, values), _one(reg, values))
            pair = (acc, reg) if op == "max" else (reg, acc)
            chosen = select(e, greater, _one(pair[0], values), _one(pair[1], values))
            e.s.move(acc, chosen.regs[0])
        else:
            e.s.into(text, acc, acc, reg)


def _numbers(e: Emission, x: Lanes, dtype: DType, form: Format, op: str) -> Lanes:
    if dtype.kind is Kind.BOOL:
        return as_format(e, x, MASKS[8])
    if op in ("any", "all"):
        return as_format(e, cast(e, x, dtype, BOOL, saturate=False), MASKS[form.bits])
    return number(e, x, dtype)


def _one(reg: Reg, like: Lanes) -> Lanes:
    return Lanes((reg,), like.format, like.format.lanes)


def _instruction(op: str, form: Format) -> str | None:
    if op in ("any", "all") or form.kind == "m":
        word = "orr" if op in ("any", "max", "sum") else "and"
        return f"{word} {{0}}.16b, {{1}}.16b, {{2}}.16b"
    if op != "sum" and form.bits == 64 and form.kind != "f":
        return None
    letter = {"f": "f", "i": "s", "u": "u"}[form.kind]
    word = ("f" if form.kind == "f" else "") + "add" if op == "sum" else letter + op
    a = form.arrangement
    return f"{word} {{0}}.{a}, {{1}}.{a}, {{2}}.{a}"


def _place_step(
    e: Emission, op: str, dtype: DType, state: list[Lanes], x: Lanes, here: Linear, n: int
) -> None:
    """Where a lane is beyond its best so far, it and its place take over."""
    best, where = state
    x = number(e, x, dtype)
    better = _beyond(e, op, x, best)
    many = len(where.regs) > 0 and best.count > 1 and n > 1
    places = _numbered(e, here, best.count, spread=many)
    wide = as_format(e, better, MASKS[32])
    for acc, mask, new in zip(where.regs, wide.regs, places.regs, strict=True):
        e.s.onto("bit {0}.16b, {1}.16b, {2}.16b", acc, new, mask)
    for acc, mask, new in zip(best.regs, better.regs, x.regs, strict=True):
        e.s.onto("bit {0}.16b, {1}.16b, {2}.16b", acc, new, mask)


def _beyond(e: Emission, op: str, x: Lanes, best: Lanes) -> Lanes:
    """Where x takes over: where it is greater (less), or the first NaN."""
    if x.format.kind != "f":
        return compared(e, _PLACES[op], x, best)
    reached = compared(e, "ge", *((best, x) if op == "argmax" else (x, best)))
    known = compared(e, "eq", best, best)
    pairs = zip(known.regs, reached.regs, strict=True)
    regs = tuple(e.s.v("bic {0}.16b, {1}.16b, {2}.16b", a, b) for a, b in pairs)
    return Lanes(regs, known.format, known.count)


def _alike(e: Emission, x: Lanes, y: Lanes) -> Lanes:
    """Where two are equal, or both NaN."""
    equal = compared(e, "eq", x, y)
    if x.format.kind != "f":
        return equal
    known = [compared(e, "eq", z, z).regs[0] for z in (x, y)]
    either = e.s.v("orr {0}.16b, {1}.16b, {2}.16b", *known)
    reg = e.s.v("orn {0}.16b, {1}.16b, {2}.16b", equal.regs[0], either)
    return Lanes((reg,), equal.format, equal.count)


def _numbered(e: Emission, here: Linear, count: int, *, spread: bool) -> Lanes:
    """The coordinate of each lane along the axis: the same for all unless lanes are spread along it."""
    return indices(e, here, tuple(range(count) if spread else [0] * count))


def _fold(e: Emission, op: str, dtype: DType, state: list[Lanes]) -> list[Lanes]:
    """The lanes of the accumulators brought into one: halves meet until one lane is left."""
    if op in _PLACES:
        return _fold_places(e, op, state)
    values = state[0]
    regs = list(values.regs)
    text = _instruction(op, values.format)
    count = values.count
    while len(regs) > 1:
        half = len(regs) // 2
        pairs = zip(regs[:half], regs[half:], strict=True)
        regs = [_met(e, text, op, a, b, values) for a, b in pairs]
    live = min(count, values.format.lanes)
    reg = regs[0]
    while live > 1:
        shift = live // 2 * values.format.bits // 8
        other = e.s.v(f"ext {{0}}.16b, {{1}}.16b, {{1}}.16b, #{shift}", reg)
        reg = _met(e, text, op, reg, other, values)
        live //= 2
    return [Lanes((e.s.copy(reg),), values.format, 1)]


def _met(e: Emission, text: str | None, op: str, a: Reg, b: Reg, like: Lanes) -> Reg:
    if text is not None:
        return e.s.v(text, a, b)
    greater = compared(e, "gt", _one(a, like), _one(b, like))
    pair = (a, b) if op == "max" else (b, a)
    return select(e, greater, _one(pair[0], like), _one(pair[1], like)).regs[0]


def _fold_places(e: Emission, op: str, state: list[Lanes]) -> list[Lanes]:
    """Lane by lane: the better one, of equal ones the earlier place."""
    best, where = state
    value: Lanes | None = None
    place: Lanes | None = None
    for k in range(best.count):
        per = best.format.lanes
        reg = gather_register(e, best.format, [(best.regs[k // per], k % per)])
        v = Lanes((reg,), best.format, 1)
        p = Lanes((gather_register(e, SIGNED[32], [(where.regs[k // 4], k % 4)]),), SIGNED[32], 1)
        if value is None or place is None:
            value, place = v, p
            continue
        better = _beyond(e, op, v, value)
        equal = as_format(e, _alike(e, v, value), MASKS[32])
        earlier = compared(e, "lt", p, place)
        tie = e.s.v("and {0}.16b, {1}.16b, {2}.16b", equal.regs[0], earlier.regs[0])
        wide = as_format(e, better, MASKS[32])
        either = e.s.v("orr {0}.16b, {1}.16b, {2}.16b", wide.regs[0], tie)
        place = select(e, Lanes((either,), MASKS[32], 1), p, place)
        value = select(e, better, v, value)
    assert value is not None
    assert place is not None
    return [value, place]


def finish(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """A sum on the grid of its dtype."""
    return rounded(e, x, dtype) if dtype.is_float else wrapped(e, x, dtype)


def scan(e: Emission, i: ins.Scan) -> None:
    """Prefix sums, element by element along the axis."""
    if i.op != "sum" or i.x.type.dtype.kind is Kind.BOOL:
        raise unsupported(f"scans by {i.op}", i.loc)
    shape, axis, dtype = i.x.type.shape, i.axis % i.x.type.rank, i.x.type.dtype
    result = scratch_for(e, i.out)
    rest = (*shape[:axis], *shape[axis + 1 :])
    held = in_registers(e, i.x)
    last = axis == len(shape) - 1

    def place(at: At) -> None:
        state = _start(e, "sum", dtype, at.count)

        def take(here: Linear) -> None:
            chunk = at.with_axis(axis, here)
            _step(e, "sum", dtype, state, e.pull(i.x, chunk), here, at.count)
            total = finish(e, state[0], dtype)
            store_lanes(e, result, chunk, for_memory(e, total, dtype))

        if held:
            for k in range(shape[axis]):
                take(Linear(constant=k))
        else:
            each(e, ex.index(0), ex.index(shape[axis]), 1, take)

    nest(e, rest, 1 if last or not rest else lanes_for(rest[-1]), place, unroll=held)
    e.settle(i.out, result)


STATEMENTS = {ins.Reduce: reduce, ins.Scan: scan}
