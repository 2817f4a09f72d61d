"""Places for tiles: those that live at one time share the memory, in the order in which it gets free.

A tile lives from its first access to its last. Memory is given out oldest first, so that a tile is
loaded as early as can be; its first writes wait for the last accesses of what was there before. Bytes
of a partition are counted, not addresses: no memory is lost between tiles.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from dslc.runtime.nki_simulator.machine import BANK_BYTES
from dslc.runtime.nki_simulator.tensors import PSUM
from dslc.runtime.nki_simulator.trace import Step, Tile

_ALIGN = 32  # bytes


@dataclass(slots=True)
class Place:
    """Memory of one or more tiles after one another: those of a slot, else a single one."""

    tiles: list[Tile]
    bytes: int
    first: int
    last: int = 0
    ends: tuple[int, ...] = field(default=())


Refuse = Callable[[str, str, int], NoReturn]


def reuse_waits(
    tiles: Iterable[Tile], steps: list[Step], space: str, capacity: int, refuse: Refuse
) -> tuple[dict[int, set[int]], int]:
    """What instructions wait for because memory is used again, and the most bytes that are live.

    By the number of an instruction the numbers of those that must have ended. A fault where the tiles
    that live at one time take more than `capacity` bytes of a partition.
    """
    places = sorted(_places(t for t in tiles if t.space == space), key=lambda p: p.first)
    waits: dict[int, set[int]] = {}
    pool: deque[tuple[int, tuple[int, ...]]] = deque([(capacity, ())])
    live: list[tuple[int, int, Place]] = []
    taken = peak = 0
    for order, place in enumerate(places):
        while live and live[0][0] < place.first:
            _, _, gone = heapq.heappop(live)
            pool.append((gone.bytes, gone.ends))
            taken -= gone.bytes
        if taken + place.bytes > capacity:
            _overflow([p for _, _, p in live], place, capacity, steps, refuse)
        taken += place.bytes
        peak = max(peak, taken)
        need = place.bytes
        before: set[int] = set()
        while need:
            size, ends = pool.popleft()
            if size > need:
                pool.appendleft((size - need, ends))
            need -= min(need, size)
            before.update(ends)
        _wait(waits, place, before)
        heapq.heappush(live, (place.last, order, place))
    return waits, peak


def _wait(waits: dict[int, set[int]], place: Place, before: set[int]) -> None:
    for tile in place.tiles:
        if before:
            for number in tile.accesses.begins:
                waits.setdefault(number, set()).update(before)
        before = set(tile.accesses.ends.values())


def _places(tiles: Iterable[Tile]) -> list[Place]:
    """Tiles that are used, those of one slot together."""
    slots: dict[object, Place] = {}
    found = []
    for tile in tiles:
        accesses = tile.accesses
        if accesses.first < 0:
            continue
        size = _rounded(tile)
        place = slots.get(tile.slot) if tile.slot is not None else None
        if place is None:
            place = Place([], size, accesses.first)
            found.append(place)
            if tile.slot is not None:
                slots[tile.slot] = place
        place.tiles.append(tile)
        place.bytes = max(place.bytes, size)
        place.first = min(place.first, accesses.first)
        place.last = max(place.last, accesses.last)
        place.ends = tuple(accesses.ends.values())
    return found


def _rounded(tile: Tile) -> int:
    """SBUF in units of 32 bytes; PSUM by halves, quarters, ... of a bank, or by whole banks."""
    size = -(-tile.bytes // _ALIGN) * _ALIGN
    if tile.space != PSUM:
        return size
    if size > BANK_BYTES:
        return -(-size // BANK_BYTES) * BANK_BYTES
    return 1 << (size - 1).bit_length()


def _overflow(
    live: list[Place], new: Place, capacity: int, steps: list[Step], refuse: Refuse
) -> NoReturn:
    everything = sorted([*live, new], key=lambda p: -p.bytes)
    total = sum(p.bytes for p in everything)
    names: dict[str, int] = {}
    for place in everything:
        name = place.tiles[0].name
        names[name] = names.get(name, 0) + place.bytes
    largest = sorted(names.items(), key=lambda item: -item[1])[:4]
    listed = ", ".join(f"{name} {size}" for name, size in largest)
    tile = new.tiles[0]
    refuse(
        f"{tile.space}-capacity",
        f"{tile.name} does not fit: {total} of {capacity} bytes of a partition are live ({listed})",
        steps[new.first].line,
    )
