"""Loads that need no ring: straight from memory to the registers that want them, iterations ahead.

Shared memory serves tiles that several warps read, or whose elements reach a thread in small pieces.
Where each thread reads 8 or 16 bytes at once, and no other thread reads them too, a copy through
shared memory only costs instructions and a barrier an iteration; without one, warps run on their own.
Weights in the order of registers are such tiles, and activations whose k is dealt
(`gpu_layout.dealing`). Beside them a small tile, such as a row of scales, needs none either.

A register that waits for memory is one that the iteration cannot use, so this is for tiles of which a
thread holds little. How far loads run ahead follows from the bytes that must be under way.
"""

from __future__ import annotations

from collections.abc import Sequence

from dslc.compiler.layout import contiguity
from dslc.compiler.passes.pipelining.prefetchable_loads import Ahead, thread_bytes
from dslc.compiler.passes.pipelining.stage_count import Room

_ACCESS_BITS = 64  # at least
_SMALL = 0.5  # of what goes straight: tiles that go along though others read them too, or in pieces
_HELD_BYTES = 256  # of registers for all that is under way, in a thread
_DEEPEST = 4


def iterations_ahead(found: Sequence[Ahead], asked: int | None, room: Room) -> int:
    """How many iterations ahead a loop's loads go to registers; 0 where some want a ring.

    `asked` is the number of stages that is asked for; more than the registers hold want a ring.
    """
    staged = [a for a in found if a.width]
    straight = [a for a in staged if _is_straight(a)]
    beside = _bytes(staged) - _bytes(straight)
    if not straight or beside > _SMALL * _bytes(straight):
        return 0
    most = min(_DEEPEST, _HELD_BYTES // _bytes(found))
    enough = max(2, -(-room.in_flight // (_bytes(staged) * room.most_threads)))
    depth = enough if asked is None else asked - 1
    return depth if depth <= most else 0


def _is_straight(ahead: Ahead) -> bool:
    """Whether each thread takes whole accesses, which no other thread takes."""
    layout = ahead.load.out.type.layout
    bits = ahead.load.out.type.dtype.bits
    if layout is None or layout.replication > 1 or ahead.width * bits < _ACCESS_BITS:
        return False
    return contiguity(layout) * bits % _ACCESS_BITS == 0


def _bytes(loads: Sequence[Ahead]) -> int:
    """The registers of a thread for an iteration's tiles, in bytes."""
    return sum(thread_bytes(a.load.out, None) for a in loads)
