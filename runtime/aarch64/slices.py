"""How the turns of a kernel are split among threads."""

from __future__ import annotations

from itertools import pairwise


def slices(turns: int, parts: int) -> tuple[tuple[int, int], ...]:
    """[0, turns) in as many ranges (begin, end) as asked, or as there are turns; sizes differ by one.

    >>> slices(7, 3)
    ((0, 3), (3, 5), (5, 7))
    """
    parts = max(1, min(parts, turns))
    size, more = divmod(turns, parts)
    starts = [i * size + min(i, more) for i in range(parts + 1)]
    return tuple(pairwise(starts))
