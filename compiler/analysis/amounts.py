"""Amounts of work: what a block asks of the units of its multiprocessor, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Flight:
    """Iterations of a loop whose loads are under way `depth` iterations before they are read.

    An iteration computes for `cycles`, of which `late` pass before it starts to load so many bytes.
    """

    times: float
    cycles: float
    loaded: float
    depth: int
    late: float = 0.0


@dataclass(slots=True)
class Work:
    """What a block does; bytes of global memory are by memory name.

    `shared` are bytes through shared memory, `slots` warp instructions, `special` results of the
    special function unit, `matrix` cycles of a multiprocessor's matrix units, `operations` the
    multiply-adds of products, `path` the cycles that the block needs though nothing else runs, without
    waits for memory, and `waits` how often it waits for the latency of memory. What is loaded ahead in
    loops is waited for as its `flights` say. `last` are the cycles of what only the last block does
    of those that share a turn: the launch ends with it.
    """

    loaded: dict[str, float] = field(default_factory=dict)
    stored: dict[str, float] = field(default_factory=dict)
    shared: float = 0.0
    slots: float = 0.0
    special: float = 0.0
    matrix: float = 0.0
    operations: float = 0.0
    path: float = 0.0
    waits: float = 0.0
    last: float = 0.0
    flights: list[Flight] = field(default_factory=list)

    def add(self, other: Work, times: float = 1.0) -> None:
        """Count another's work as often as said."""
        for mine, theirs in ((self.loaded, other.loaded), (self.stored, other.stored)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0.0) + count * times
        self.shared += other.shared * times
        self.slots += other.slots * times
        self.special += other.special * times
        self.matrix += other.matrix * times
        self.operations += other.operations * times
        self.path += other.path * times
        self.waits += other.waits * times
        self.last = max(self.last, other.last)
        self.flights += [replace(f, times=f.times * times) for f in other.flights]
