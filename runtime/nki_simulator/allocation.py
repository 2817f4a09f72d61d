"""Places for tiles: those that live at one time share the memory, in the order in which it gets free.

A tile lives from its first access to its last. Memory is given out oldest first, so that a tile is
loaded as early as can be; its first writes wait for the last accesses of what was there before. What
a compiled loop's body allocates waits for the same tile of the iteration before, too: one code serves
all iterations, with one address. Bytes of a partition are counted, not addresses: none are lost between
tiles.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import NoReturn

from dslc.runtime.nki_simulator.machine import BANK_BYTES
from dslc.runtime.nki_simulator.tensors import PSUM
from dslc.runtime.nki_simulator.trace import Step, Tile

_ALIGN = 32  # bytes


Refuse = Callable[[str, str, int], NoReturn]


def reuse_waits(
    tiles: Iterable[Tile], steps: list[Step], space: str, capacity: int, refuse: Refuse
) -> tuple[dict[int, set[int]], int]:
    """What instructions wait for because memory is used again, and the most bytes that are live.

    By the number of an instruction the numbers of those that must have ended. A fault where the tiles
    that live at one time take more than `capacity` bytes of a partition.
    """
    used = [t for t in tiles if t.space == space and t.accesses.first >= 0]
    used.sort(key=lambda tile: tile.accesses.first)
    waits: dict[int, set[int]] = {}
    pool: deque[tuple[int, Iterable[int]]] = deque([(capacity, ())])
    live: list[tuple[int, int, Tile]] = []
    iterations: dict[object, Tile] = {}  # the tile of the iteration before, by slot
    taken = peak = 0
    for order, tile in enumerate(used):
        while live and live[0][0] < tile.accesses.first:
            _, _, gone = heapq.heappop(live)
            pool.append((_rounded(gone), gone.accesses.ends.values()))
            taken -= _rounded(gone)
        need = _rounded(tile)
        if taken + need > capacity:
            _overflow([t for _, _, t in live], tile, capacity, steps, refuse)
        taken += need
        peak = max(peak, taken)
        before: set[int] = set()
        while need:
            size, ends = pool.popleft()
            if size > need:
                pool.appendleft((size - need, ends))
            need -= min(need, size)
            before.update(ends)
        if tile.slot is not None:
            if tile.slot in iterations:
                before.update(iterations[tile.slot].accesses.ends.values())
            iterations[tile.slot] = tile
        for number in tile.accesses.begins if before else ():
            waits.setdefault(number, set()).update(before)
        heapq.heappush(live, (tile.accesses.last, order, tile))
    return waits, peak


def _rounded(tile: Tile) -> int:
    """SBUF in units of 32 bytes; PSUM by halves, quarters, ... of a bank, or by whole banks."""
    size = -(-tile.bytes // _ALIGN) * _ALIGN
    if tile.space != PSUM:
        return size
    if size > BANK_BYTES:
        return -(-size // BANK_BYTES) * BANK_BYTES
    return 1 << (size - 1).bit_length()


def _overflow(
    live: list[Tile], new: Tile, capacity: int, steps: list[Step], refuse: Refuse
) -> NoReturn:
    names: Counter[str] = Counter()
    for tile in (*live, new):
        names[tile.name] += _rounded(tile)
    listed = ", ".join(f"{name} {size}" for name, size in names.most_common(4))
    total = names.total()
    refuse(
        f"{new.space}-capacity",
        f"{new.name} does not fit: {total} of {capacity} bytes of a partition are live ({listed})",
        steps[new.accesses.first].line,
    )
