"""Blocked layouts: threads side by side along the contiguous axis, each with a short run of it.

    blocked((4, 1024), 128, 8)   local(4, 1).spatial(1, 128).local(1, 8)
    blocked((4, 64), 128, 8)     replicate(4).spatial(4, 8).local(1, 8)

Consecutive lanes then hold consecutive pieces of up to 16 bytes, which is what global memory and shared
memory move at full speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from dslc.compiler.layout import Layout, Mode
from dslc.compiler.layout.mode import replicated

ACCESS_BITS = 128


def vector_of(extent: int, bits: int) -> int:
    """How many elements of an axis one access of at most 16 bytes takes: a power of two."""
    common = gcd(extent, max(1, ACCESS_BITS // bits))
    return common & -common


def blocked(
    shape: Sequence[int],
    threads: int,
    vector: int,
    axis: int | None = None,
    most: int | None = None,
) -> Layout:
    """The blocked layout of a tile over exactly `threads` threads.

    `axis` is the contiguous axis (the last by default), of which a thread holds runs of `vector`
    elements; the other axes follow from the last to the first. At most `most` threads stand along the
    contiguous axis while others have room. Threads that are left over hold copies.
    """
    rank = len(shape)
    if not rank:
        return Layout((), (replicated(threads),), ())
    first = rank - 1 if axis is None else axis
    order = [first, *(d for d in reversed(range(rank)) if d != first)]
    rest = list(shape)
    rest[first] //= vector
    taken = [1] * rank
    free = threads
    limits = {first: most} if most is not None else {}
    for d in (*order, first):
        taken_now = gcd(rest[d] // taken[d], free)
        if d in limits:
            taken_now = gcd(taken_now, limits.pop(d))
        taken[d] *= taken_now
        free //= taken_now
    inner = [vector if d == first else 1 for d in range(rank)]
    spatial = [Mode(taken[d], d, inner[d]) for d in reversed(order)]
    outer = [Mode(rest[d] // taken[d], d, inner[d] * taken[d]) for d in reversed(order)]
    local = [*outer, Mode(vector, first, 1)]
    assert prod(taken) * free == threads
    return Layout(tuple(shape), (replicated(free), *spatial), tuple(local))


def squares(layout: Layout, side: int = 4) -> Layout | None:
    """The layout whose threads have rows together, `side` of them, that lay apart; None without any.

    Of bytes a thread then has words along either axis, and may store its tile turned.
    """
    if layout.rank != 2 or len(layout.local_modes) != 2 or layout.local_modes[0].axis != 0:
        return None
    rows, run = layout.local_modes
    if rows.size % side or rows.stride * rows.size != layout.shape[0]:
        return None
    spatial = tuple(
        Mode(m.size, 0, m.stride * side) if m.axis == 0 else m for m in layout.spatial_modes
    )
    apart = (Mode(rows.size // side, 0, rows.stride * side),) if rows.size > side else ()
    return Layout(layout.shape, spatial, (*apart, Mode(side, 0, 1), run))
