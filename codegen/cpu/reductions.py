"""Sums, extremes, their places, prefixes: along lanes or along another axis.

Along the last axis an accumulator of several registers takes chunk after chunk and is folded at the
end; along another one each chunk of the result has an accumulator of its own. Of equal extremes the
first counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import lanes_for
from dslc.codegen.cpu.elementwise import indices
from dslc.codegen.cpu.nests import nest
from dslc.codegen.cpu.places import Array, Live, typed
from dslc.codegen.cpu.refusals import unsupported
from dslc.codegen.cpu.scalars import binary
from dslc.codegen.cpu.statements import lanes_of_tile, scratch_for
from dslc.codegen.cpu.transfer import store_lanes
from dslc.compiler.dtypes import BOOL, F32, I32, DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_OPS = {"sum": "add", "max": "max", "min": "min", "any": "or", "all": "and"}
_PLACES = {"argmax": "gt", "argmin": "lt"}
_TOGETHER = 4  # registers of an accumulator along lanes: their additions overlap


def reduce(e: Emission, i: ins.Reduce, kept: Array | None = None) -> None:
    """The result goes to scratch memory; so does what is reduced, with `kept`, in the same loop."""
    shape, axis = i.x.type.shape, i.axis % i.x.type.rank
    result = scratch_for(e, i.out)
    rest = (*shape[:axis], *shape[axis + 1 :])
    last = axis == len(shape) - 1
    lanes = 1 if last or not rest else lanes_for(rest[-1], lanes_of_tile(e, i.x))

    def place(at: At) -> None:
        found = _along(e, i.op, i.x, at, axis, kept)
        out = at.with_axis(axis, Linear()) if i.keepdims else at
        store_lanes(e, result, out, e.b.convert(found, i.out.type.dtype))

    axes = [k for k in range(len(shape)) if k != axis]
    with e.again(i.x, computing=kept is not None):
        nest(e, rest, lanes, place, [e.span_of(i.x, k) for k in axes])
    if kept is not None:
        e.settle(i.x, kept)
    e.settle(i.out, result)
    e.forget()


def is_fused(stmt: ins.Stmt, kept: Value) -> bool:
    """Whether a statement reduces a tile along its last axis: it may keep what it goes through."""
    if not isinstance(stmt, ins.Reduce) or stmt.x is not kept:
        return False
    return stmt.axis % kept.type.rank == kept.type.rank - 1


def computed(op: str, dtype: DType) -> DType:
    """The dtype in which elements are combined: f32 holds those of every narrower float."""
    if dtype.is_float and dtype.bits < 64 and op not in ("any", "all"):
        return F32
    return BOOL if op in ("any", "all") else dtype


def _along(e: Emission, op: str, x: Value, at: At, axis: int, kept: Array | None = None) -> Operand:
    """The chunk `at` of the reduction along an axis; of several lanes if `at` has several."""
    extent, dtype = x.type.shape[axis], x.type.dtype
    wide = lanes_of_tile(e, x) * (_TOGETHER // 2 if op not in _PLACES else 1)
    per = lanes_for(extent, wide) if at.count == 1 else 1
    kind = computed(op, dtype)
    step: Callable[..., Sequence[Operand]] = _better if op in _PLACES else _combined
    state: Sequence[Operand] = _start(e, op, kind, max(per, at.count))

    def take(
        state: Sequence[Operand], here: Linear, n: int, live: Live | None
    ) -> Sequence[Operand]:
        if at.count > 1:
            chunk = at.with_axis(axis, here)
        else:
            (lane,) = at.lanes
            base = (*at.base[:axis], here, *at.base[axis:])
            outer = tuple((*lane[:axis], k, *lane[axis:]) for k in range(n))
            chunk = At(base, outer, live or (at.live if n == 1 else None))
        pulled = e.pull(x, chunk)
        if kept is not None:
            store_lanes(e, kept, chunk, pulled)
        found = _number(e, op, pulled, kind)
        return step(e, op, kind, state, found, here, chunk, spread=n > 1, live=live)

    whole = extent // per * per
    if whole // per <= 2:
        for k in range(0, whole, per):
            state = take(state, Linear(constant=k), per, None)
    else:
        with e.loop("i", ex.index(0), ex.index(whole), per, state) as (here, loop):
            loop.yields = tuple(take(loop.carried, here, per, None))
        state = loop.results
    if at.count > 1:
        return state[-1]
    if whole < extent:
        live = Live(lanes_of([k < extent - whole for k in range(per)], BOOL), 0)
        state = take(state, Linear(constant=whole), per, live)
    return _fold_places(e, op, state) if op in _PLACES else _fold(e, op, state[0])


def _number(e: Emission, op: str, x: Operand, kind: DType) -> Operand:
    if op in ("any", "all") and vector_type(x).dtype != BOOL:
        return e.b.binary("ne", x, 0)
    return e.b.convert(x, kind)


def _start(e: Emission, op: str, kind: DType, count: int) -> list[Operand]:
    """The accumulators: of an extreme's place its value, then the place."""
    value = e.b.operand(_identity(op, kind), typed(kind, count))
    return [value, e.b.operand(0, typed(I32, count))] if op in _PLACES else [value]


def _identity(op: str, kind: DType) -> float:
    if op in ("sum", "any"):
        return 0
    if op == "all":
        return 1
    greatest = op in ("max", "argmax")
    if kind == BOOL:
        return not greatest
    if kind.is_float:
        return -math.inf if greatest else math.inf
    low, high = kind.integer_range
    return low if greatest else high


def _combined(
    e: Emission,
    op: str,
    kind: DType,
    state: Sequence[Operand],
    x: Operand,
    here: Linear,
    at: At,
    *,
    spread: bool,
    live: Live | None,
) -> Sequence[Operand]:
    (acc,) = state
    if live is not None:
        x = e.b.select(live.mask, x, e.b.operand(_identity(op, kind), vector_type(x)))
    return [binary(e, _OPS[op], acc, x, kind)]


def _better(
    e: Emission,
    op: str,
    kind: DType,
    state: Sequence[Operand],
    x: Operand,
    here: Linear,
    at: At,
    *,
    spread: bool,
    live: Live | None,
) -> Sequence[Operand]:
    """Where a lane is beyond its best so far, it and its place take over."""
    best, where = state
    count = vector_type(x).count
    beyond = _beyond(e, op, kind, x, best)
    if live is not None:
        beyond = e.b.binary("and", beyond, live.mask)
    places = indices(e, here, tuple(range(count) if spread else [0] * count))
    return [e.b.select(beyond, x, best), e.b.select(beyond, places, where)]


def _beyond(e: Emission, op: str, kind: DType, x: Operand, best: Operand) -> Operand:
    """Where x takes over: where it is greater (less), or the first NaN."""
    if not kind.is_float:
        return binary(e, _PLACES[op], x, best, kind)
    reached = e.b.binary("ge" if op == "argmax" else "le", best, x)
    known = e.b.binary("eq", best, best)
    return e.b.binary("and", known, e.b.unary("not", reached))


def _fold(e: Emission, op: str, x: Operand) -> Operand:
    return x if vector_type(x).lanes is None else e.b.reduce(_reducing(op, x), x)


def _reducing(op: str, x: Operand) -> str:
    if vector_type(x).dtype == BOOL:
        return "or" if op in ("any", "max", "sum") else "and"
    return _OPS[op]


def _fold_places(e: Emission, op: str, state: Sequence[Operand]) -> Operand:
    """Halves meet until one lane is left: the better one counts, of equal ones the earlier place."""
    best, where = state
    kind = vector_type(best).dtype
    while vector_type(best).count > 1:
        half = vector_type(best).count // 2
        values, spots = ([_half(e, x, k, half) for k in (0, 1)] for x in (best, where))
        equal = binary(e, "eq", values[0], values[1], kind)
        if kind.is_float:  # two NaN are alike
            first, second = (e.b.binary("ne", v, v) for v in values)
            equal = e.b.binary("or", equal, e.b.binary("and", first, second))
        earlier = e.b.binary("lt", spots[1], spots[0])
        beyond = _beyond(e, op, kind, values[1], values[0])
        taken = e.b.binary("or", beyond, e.b.binary("and", equal, earlier))
        best = e.b.select(taken, values[1], values[0])
        where = e.b.select(taken, spots[1], spots[0])
    return where


def _half(e: Emission, x: Operand, k: int, half: int) -> Operand:
    return e.b.extract(x, k) if half == 1 else e.b.part(x, k * half, half)


def scan(e: Emission, i: ins.Scan) -> None:
    """Prefix sums, element by element along the axis."""
    if i.op != "sum" or i.x.type.dtype.kind is Kind.BOOL:
        raise unsupported(f"scans by {i.op}", i.loc)
    shape, axis, dtype = i.x.type.shape, i.axis % i.x.type.rank, i.x.type.dtype
    result = scratch_for(e, i.out)
    rest = (*shape[:axis], *shape[axis + 1 :])
    last = axis == len(shape) - 1
    kind = computed("sum", dtype)

    def place(at: At) -> None:
        start = _start(e, "sum", kind, at.count)
        with e.loop("i", ex.index(0), ex.index(shape[axis]), 1, start, movable=False) as (
            here,
            loop,
        ):
            chunk = at.with_axis(axis, here)
            total = e.b.add(loop.carried[0], e.b.convert(e.pull(i.x, chunk), kind))
            store_lanes(e, result, chunk, e.b.convert(total, i.out.type.dtype))
            loop.yields = (total,)

    nest(e, rest, 1 if last or not rest else lanes_for(rest[-1], lanes_of_tile(e, i.x)), place)
    e.settle(i.out, result)
    e.forget()


STATEMENTS = {ins.Reduce: reduce, ins.Scan: scan}
