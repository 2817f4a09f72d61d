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
from dslc.codegen.chunks.nests import Span, each, rows
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, div, mul, sub

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

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
    if not shape:
        body(At((), ((),)))
        return

    def row(base: tuple[Linear, ...], span: Span) -> None:
        _row(e, shape[-1], lanes, body, span, base, unroll)

    rows(e, tuple(shape), spans or [None] * len(shape), row, unroll=unroll)


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
