"""Loops over coordinates of tiles: the axes before the last one, where rows of chunks begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from dslc.codegen.chunks.tiles import Tiles
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, constant, linear, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import div, sub

Span: TypeAlias = "tuple[ex.Expr, ex.Expr] | None"
"""From which to which (exclusive) coordinate of an axis elements count; all of them for None."""


def rows(
    e: Tiles[Any, Any],
    shape: tuple[int, ...],
    spans: Sequence[Span],
    body: Callable[[tuple[Linear, ...], Span], None],
    *,
    unroll: bool = False,
    base: tuple[Linear, ...] = (),
) -> None:
    """`body` for every row of a tile: where it begins, but for the last axis, and what counts of it.

    With `unroll` no coordinate is a variable. A tile of rank 0 has no row.
    """
    k = len(base)
    if k == len(shape) - 1:
        body(base, spans[k])
        return

    def inner(at: Linear) -> None:
        rows(e, shape, spans, body, unroll=unroll, base=(*base, at))

    span = spans[k]
    if span is None and (unroll or shape[k] == 1):
        for i in range(shape[k]):
            inner(Linear(constant=i))
        return
    low, high = span or (ex.index(0), ex.index(shape[k]))
    each(e, low, high, 1, inner)


def each(
    e: Tiles[Any, Any],
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
    trips = constant(simplify(div(sub(high, low), step)))
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
    with e.steps(low, high, step, movable=movable) as at:
        body(at)


def each_place(
    e: Tiles[Any, Any], shape: tuple[int, ...], body: Callable[[tuple[Linear, ...]], None]
) -> None:
    """`body` at every coordinate of a shape, in loops."""
    if not shape:
        body(())
        return
    first, *rest = shape

    def inner(at: Linear) -> None:
        each_place(e, tuple(rest), lambda more: body((at, *more)))

    each(e, ex.index(0), ex.index(first), 1, inner)


def lanes_for(extent: int, most: int = 16) -> int:
    """The greatest power of two that is neither above the extent nor `most`."""
    n = 1
    while 2 * n <= min(extent, most):
        n *= 2
    return n
