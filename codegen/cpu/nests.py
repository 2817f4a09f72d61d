"""Loops over the elements of a tile, the last axis in chunks of a power of two of lanes.

    for i in 0 .. 4:
        for t in 0 .. 1000 by 16:       16 elements from t on
        8 of 16 elements from 992 on    the others do not count

Where only coordinates from `low` up to `high` count, as at the edge of a tensor, chunks go as far as
they fit, and one more has a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from dslc.codegen.chunks.at import At, row
from dslc.codegen.chunks.nests import Span, each, rows
from dslc.codegen.cpu.places import Live
from dslc.compiler.dtypes import BOOL, I32
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, constant, linear, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, div, mul, sub
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

Body: TypeAlias = "Callable[[At], None]"
_UNROLLED = 2  # chunks of a row that are written out rather than looped over


def nest(
    e: Emission, shape: Sequence[int], lanes: int, body: Body, spans: Sequence[Span] | None = None
) -> None:
    """Call `body` for every chunk of a tile, in loops."""
    if not shape:
        body(At((), ((),)))
        return

    def of_row(base: tuple[Linear, ...], span: Span) -> None:
        chunks(e, shape[-1], lanes, lambda at, n, live: body(row((*base, at), n, live)), span)

    rows(e, tuple(shape), spans or [None] * len(shape), of_row)


def chunks(
    e: Emission,
    extent: int,
    lanes: int,
    body: Callable[[Linear, int, Live | None], None],
    span: Span = None,
) -> None:
    """`body` for every chunk of a row: where it begins, its lanes, and which of them count."""
    low, high = span or (ex.index(0), ex.index(extent))
    known = constant(low), constant(high)
    if known[0] is None or known[1] is None:
        each(e, low, high, lanes, lambda at: body(at, lanes, None))
        if lanes > 1:
            past = simplify(add(low, mul(div(sub(high, low), lanes), lanes)))
            rest = e.scalar(simplify(sub(high, past)))
            e.when(
                e.b.binary("gt", rest, 0), lambda: body(linear(past), lanes, first(e, rest, lanes))
            )
        return
    start, end = (int(x) for x in known if x is not None)
    whole = start + (end - start) // lanes * lanes
    if (whole - start) // lanes <= _UNROLLED:
        for at in range(start, whole, lanes):
            body(Linear(constant=at), lanes, None)
    else:
        each(e, low, ex.index(whole), lanes, lambda at: body(at, lanes, None))
    if whole < end:
        n = 1 << (end - whole - 1).bit_length()
        live = None
        if n > end - whole:
            live = Live(lanes_of([k < end - whole for k in range(n)], BOOL), 0)
        body(Linear(constant=whole), n, live)


def first(e: Emission, count: Operand, lanes: int) -> Live:
    """The first lanes of a chunk, as many as a number below its lanes says."""
    many = e.b.broadcast(e.b.convert(count, I32), lanes)
    return Live(e.b.binary("lt", e.b.iota(lanes, I32), many), e.level)
