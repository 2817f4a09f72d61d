"""Rounds: what each core wants for itself comes to all cores of a FIFO, one after another.

A FIFO brings the same objects to all cores that have it. A product's residual is another one in each
core of a column, which share the blocks of `b`. The column's FIFO brings the residuals of all its
cores; each copies its own and lets the others pass:

    core 0: [r0] r1  r2  r3  b0 b1 ... b7    core 1: r0 [r1] r2  r3  b0 b1 ... b7

The other way is a FIFO for each core, by which `b` leaves the host's memory once for every core. The
way that takes less time is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dslc.codegen.aie.planning.herd import Herd
from dslc.codegen.aie.planning.scopes import Scope
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.targets.aie import TileArray

Group = tuple[Stream, ...]
MOST_PANELS = 8  # times that a panel is sent: each time takes a buffer descriptor


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a FIFO's streams cost: bytes of a core's channel, and of the host's memory."""

    rounds: Group
    core: float
    host: float

    def time(self, array: TileArray) -> float:
        """The cycles that the slower of the two takes."""
        return max(self.core / array.stream, self.host * array.clock / array.host)


def is_ahead(stream: Stream, group: Group) -> bool:
    """Whether a stream's objects come ahead of others of its FIFO, so that a core copies them."""
    return any(stream.scope.holds(other.scope) for other in group)


def traffic(group: Group, herd: Herd, runs: Callable[[Scope], int], array: TileArray) -> Traffic:
    """The better way for the streams of a FIFO: each core's objects apart, or some in rounds."""
    apart = _traffic(group, (), herd, runs, array)
    late = tuple(s for s in group if not is_ahead(s, group))
    wide = _spread(late, herd)
    rounds = tuple(s for s in group if _spread((s,), herd) | wide != wide and s not in late)
    if group[0].output or herd.stages > 1 or not rounds or not _is_shared(wide, herd):
        return apart
    together = _traffic(group, rounds, herd, runs, array)
    return min(apart, together, key=lambda t: t.time(array))


def _spread(group: Group, herd: Herd) -> frozenset[int]:
    """Along which of rows (0) and columns (1) the cores want different objects."""
    return frozenset(axis for s in group for axis, wide in enumerate(herd.spread(s)) if wide)


def _is_shared(wide: frozenset[int], herd: Herd) -> bool:
    """Whether FIFOs are left that bring whole objects to several cores, none a part of larger ones."""
    return herd.rows > 1 and (0 not in wide or (1 not in wide and herd.columns > 1))


def _traffic(
    group: Group, rounds: Group, herd: Herd, runs: Callable[[Scope], int], array: TileArray
) -> Traffic:
    kept = tuple(s for s in group if s not in rounds)
    sides = (herd.rows, herd.columns)
    wide = _spread(kept, herd)
    copies = math.prod(n for axis, n in enumerate(sides) if axis in wide)
    core, held = 0.0, _panels(group, herd, runs, array)
    for stream in group:
        others = _spread((stream,), herd) - wide
        passes = math.prod(n for axis, n in enumerate(sides) if axis in others)
        core += _bytes(stream, herd, runs) * (passes if stream in rounds else 1)
    return Traffic(rounds, core, core * copies / held)


def _panels(group: Group, herd: Herd, runs: Callable[[Scope], int], array: TileArray) -> int:
    """For how many turns a memory tile holds what comes, if `memory_tile_panels` makes panels of it."""
    (stream, *others), inner = group, 1
    in_parts = len(_spread(group, herd)) == 2
    if others or stream.output or stream.blocks is None or in_parts:
        return 1
    for axis in reversed(range(len(herd.axes))):
        if herd.axes[axis] in stream.variables:
            break
        inner *= herd.steps[axis]
    size = _bytes(stream, herd, runs) / max(1, herd.turns)
    fits = size <= array.memory.memory // 2
    return max(n for n in range(1, MOST_PANELS + 1) if inner % n == 0) if fits else 1


def _bytes(stream: Stream, herd: Herd, runs: Callable[[Scope], int]) -> float:
    """The bytes that a core takes of a stream in a launch."""
    axes = [s.axis for s in stream.scope.chain if s.axis is not None]
    turns = runs(stream.scope) / max(1, math.prod(herd.counts[a] for a in axes))
    steps = math.prod(herd.steps[a] for a in axes)
    dealt = herd.stages if herd.is_dealt(stream) else 1
    return stream.bytes * stream.pieces * turns * steps / dealt


def own_cores(
    stream: Stream, herd: Herd, cores: list[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Those of a FIFO's cores that have objects of their own of a stream: the first of those alike."""
    keys = {key(stream, herd, core): core for core in reversed(cores)}
    return tuple(core for core in cores if keys[key(stream, herd, core)] == core)


def key(stream: Stream, herd: Herd, core: tuple[int, int]) -> tuple[int, int]:
    """Cores with equal keys want the same objects of a stream."""
    row, column = core
    return (row if herd.spread(stream)[0] else 0), herd.columns_alike(stream)[column]
