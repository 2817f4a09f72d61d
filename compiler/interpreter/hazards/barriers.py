"""Hazards on shared memory: accesses of one element by different threads with no barrier between.

Threads of a turn run at their own pace between two `sync()`s. What one statement wrote another may
read or overwrite only after a barrier, and what one has read another may overwrite only after one.
Where the layouts of both say that one and the same thread moves an element, its own order is enough:
a thread that reads only what it copied itself needs the wait, but no barrier. Copies that several
threads hold of an element count as different threads. A buffer that begins to live in bytes of others
finds there what these were read and written for since the last barrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from dslc.compiler.diagnostics import Label, error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards.observers import Observer, element_text
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window
from dslc.compiler.ir import Memory

Spans: TypeAlias = "tuple[Array, ...]"


@dataclass(frozen=True, slots=True)
class Last:
    """The last access of each element: (barriers passed + 1) * sites + site, 0 for none; its thread."""

    tokens: Array
    owners: Array

    @classmethod
    def fresh(cls, shape: tuple[int, ...]) -> Last:
        """No access yet."""
        return cls(np.zeros(shape, np.int64), np.full(shape, -1, np.int32))


@dataclass(slots=True)
class Barriers(Observer):
    """The last writes and reads of one memory's elements."""

    memory: Memory
    sites: list[Site]
    writes: Last
    reads: Last

    @classmethod
    def fresh(cls, memory: Memory, shape: tuple[int, ...], sites: list[Site]) -> Barriers:
        """No access yet."""
        return cls(memory, sites, Last.fresh(shape), Last.fresh(shape))

    def follow(self, other: Barriers, turn: Turn, mine: Spans, its: Spans) -> None:
        """What was done to the other's elements since the last barrier was done to these bytes.

        Spans have for each byte of an element its place, in arrays of the memory's shape.
        """
        start = self._start(turn)
        for last, before in ((self.writes, other.writes), (self.reads, other.reads)):
            for span in its:
                recent = before.tokens >= start
                places, tokens = span[recent], before.tokens[recent]
                for own in mine:
                    shared = np.isin(own, places)
                    if shared.any():
                        last.tokens[shared] = tokens.max()
                        last.owners[shared] = -1

    @property
    def shape(self) -> tuple[int, ...]:
        """The memory's shape."""
        shape: tuple[int, ...] = self.writes.tokens.shape
        return shape

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0609 where another thread may have written since the last barrier."""
        self._check(turn, window, site, self.writes, ("reads", "wrote"))
        self._remember(turn, window, site, self.reads)

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0609 where another thread may have read or written since the last barrier."""
        self.reserve(turn, window, site)
        if not site.awaited:
            self._remember(turn, window, site, self.writes)

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """Atomic additions count as one statement: they do not disturb each other."""
        self.write(turn, window, Site(0, site.verb, site.loc))

    def reserve(self, turn: Turn, window: Window, site: Site) -> None:
        """A copy may write from the moment when it is issued."""
        self._check(turn, window, site, self.writes, ("writes", "wrote"))
        self._check(turn, window, site, self.reads, ("writes", "reads"))

    def _remember(self, turn: Turn, window: Window, site: Site, last: Last) -> None:
        start, mine = self._start(turn), _owners(window, site)
        # Two threads since the last barrier: what comes after them is the second's own no more.
        others = (last.tokens[window.index] >= start) & (last.owners[window.index] != mine)
        last.owners[window.index] = np.where(others, -1, mine)
        last.tokens[window.index] = start + site.number

    def _start(self, turn: Turn) -> int:
        return (turn.barriers + 1) * (len(self.sites) + 1)

    def _check(
        self, turn: Turn, window: Window, site: Site, last: Last, verbs: tuple[str, str]
    ) -> None:
        start = self._start(turn)
        tokens = np.asarray(last.tokens[window.index])
        bad = np.asarray((tokens >= start) & (tokens != start + site.number))
        if not bad.any():
            return
        mine = _owners(window, site)
        bad &= (mine < 0) | (mine != last.owners[window.index])
        if bad.any():
            number = int(tokens[np.unravel_index(np.argmax(bad), bad.shape)]) - start
            raise self._hazard(turn, window.element(bad), site, number, verbs)

    def _hazard(
        self,
        turn: Turn,
        element: tuple[int, ...],
        site: Site,
        number: int,
        verbs: tuple[str, str],
    ) -> Exception:
        there = self.sites[number - 1].loc if number else None
        mine, theirs = verbs
        return error(
            "DSL0609",
            f"{site.verb} {mine} element {element_text(element)} of "
            f"{self.memory.name}, which another statement {theirs} with no barrier between them, "
            f"in {turn.title}",
            site.loc,
            hint="put a sync() between the two",
            labels=() if there is None else (Label(there, f"this {theirs} it"),),
        )


def _owners(window: Window, site: Site) -> Array:
    """The thread that moves each element of the window; -1 where it is not known to be one."""
    if site.owners is None or site.owners.shape != window.shape:
        return np.asarray(-1, np.int32)
    return np.asarray(window.part(site.owners))
