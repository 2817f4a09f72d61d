"""Loops over the elements of a tile, the last axis in chunks of a power of two of lanes.

    for i in range(0, 4):
        for t in range(0, 62):      16 elements from 16 t on
        8 elements from 992 on

Where only coordinates from `low` up to `high` count, as at the edge of a tensor, chunks go as far as
they fit and single elements follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from dslc.codegen.chunks.at import At
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, constant, linear, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, div, mul, sub

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

Span: TypeAlias = "tuple[ex.Expr, ex.Expr] | None"
Body: TypeAlias = "Callable[[At], None]"
_UNROLLED = 4  # chunks of a row that are written out rather than looped over


def nest(
    e: Emission,
    shape: Sequence[int],
    lanes: int,
    body: Body,
    spans: Sequence[Span] | None = None,
    *,
    unroll: bool = False,
) -> None:
    """Call `body` for every chunk of a tile, in loops; with `unroll` no coordinate is a variable."""
    _axis(e, tuple(shape), lanes, body, spans or [None] * len(shape), (), unroll)


def _axis(
    e: Emission,
    shape: tuple[int, ...],
    lanes: int,
    body: Body,
    spans: Sequence[Span],
    base: tuple[Linear, ...],
    unroll: bool,
) -> None:
    k = len(base)
    if k == len(shape):
        body(At(base, ((0,) * k,)))
        return
    if k == len(shape) - 1:
        _row(e, shape[k], lanes, body, spans[k], base, unroll)
        return

    def inner(at: Linear) -> None:
        _axis(e, shape, lanes, body, spans, (*base, at), unroll)

    span = spans[k]
    if span is None and (unroll or shape[k] == 1):
        for i in range(shape[k]):
            inner(Linear(constant=i))
        return
    low, high = span or (ex.index(0), ex.index(shape[k]))
    each(e, low, high, 1, inner)


def each(
    e: Emission,
    low: ex.Expr,
    high: ex.Expr,
    step: int,
    body: Callable[[Linear], None],
    *,
    together: int = 1,
    movable: bool = True,
) -> None:
    """`body` at low, low + step, ... as long as a whole step fits below high, in a loop.

    An iteration of the loop runs `together` steps, which divide their number, where that is known. With
    `movable` loads may move ahead of the loop.
    """
    count = simplify(div(sub(high, low), step))
    trips = constant(count)
    if trips == 0:
        return
    if trips == 1:
        body(linear(low))
        return
    if together > 1 and trips is not None and trips % together == 0:

        def several(at: Linear) -> None:
            for i in range(together):
                body(at + Linear(constant=i * step))

        each(e, low, high, step * together, several, movable=movable)
        return
    with e.loop("i", ex.index(0), count, ex.index(1), movable=movable) as var:
        body(linear(low) + Linear({var: step}))


def each_place(
    e: Emission, shape: tuple[int, ...], body: Callable[[tuple[Linear, ...]], None]
) -> None:
    """`body` at every coordinate of a shape, in loops."""
    if not shape:
        body(())
        return
    first, *rest = shape

    def inner(at: Linear) -> None:
        each_place(e, tuple(rest), lambda more: body((at, *more)))

    each(e, ex.index(0), ex.index(first), 1, inner)


def _row(
    e: Emission,
    extent: int,
    lanes: int,
    body: Body,
    span: Span,
    base: tuple[Linear, ...],
    unroll: bool,
) -> None:
    rank = len(base) + 1

    def chunk(n: int) -> Callable[[Linear], None]:
        offsets = tuple((*(0,) * (rank - 1), i) for i in range(n))
        return lambda at: body(At((*base, at), offsets))

    if span is not None:
        low, high = span
        each(e, low, high, lanes, chunk(lanes))
        if lanes > 1:
            past = mul(div(sub(high, low), lanes), lanes)
            each(e, simplify(add(low, past)), high, 1, chunk(1))
        return
    full = extent // lanes
    if unroll or full <= (_UNROLLED if lanes > 1 else 1):
        for i in range(full):
            chunk(lanes)(Linear(constant=i * lanes))
    else:
        each(e, ex.index(0), ex.index(full * lanes), lanes, chunk(lanes))
    at = full * lanes
    while at < extent:
        n = 1 << ((extent - at).bit_length() - 1)
        chunk(n)(Linear(constant=at))
        at += n


def lanes_for(extent: int, most: int = 16) -> int:
    """The greatest power of two that is neither above the extent nor `most`."""
    n = 1
    while 2 * n <= min(extent, most):
        n *= 2
    return n
