"""Hazards on shared memory: accesses of one element by different statements with no barrier between.

Threads of a turn run at their own pace between two `sync()`s. What one statement wrote another may
read or overwrite only after a barrier, and what one has read another may overwrite only after one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.compiler.diagnostics import Label, error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.observers import Observer, element_text
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window
from dslc.compiler.ir import Memory


@dataclass(slots=True)
class Barriers(Observer):
    """The last write and read of each element: (barriers passed + 1) * sites + site, 0 for none."""

    memory: Memory
    sites: list[Site]
    writes: Array
    reads: Array

    @classmethod
    def fresh(cls, memory: Memory, shape: tuple[int, ...], sites: list[Site]) -> Barriers:
        """No access yet."""
        return cls(memory, sites, np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0609 where another statement has written since the last barrier."""
        self._check(turn, window, site, self.writes, ("reads", "wrote"))
        self.reads[window.index] = self._start(turn) + site.number

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0609 where another statement has read or written since the last barrier."""
        self.reserve(turn, window, site)
        self.writes[window.index] = self._start(turn) + site.number

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """Atomic additions count as one statement: they do not disturb each other."""
        self.write(turn, window, Site(0, site.verb, site.loc))

    def reserve(self, turn: Turn, window: Window, site: Site) -> None:
        """A copy may write from the moment when it is issued."""
        self._check(turn, window, site, self.writes, ("writes", "wrote"))
        self._check(turn, window, site, self.reads, ("writes", "reads"))

    def _start(self, turn: Turn) -> int:
        return (turn.barriers + 1) * (len(self.sites) + 1)

    def _check(
        self, turn: Turn, window: Window, site: Site, last: Array, verbs: tuple[str, str]
    ) -> None:
        start = self._start(turn)
        tokens = np.asarray(last[window.index])
        bad = np.asarray((tokens >= start) & (tokens != start + site.number))
        if not bad.any():
            return
        number = int(tokens[np.unravel_index(np.argmax(bad), bad.shape)]) - start
        there = self.sites[number - 1].loc if number else None
        mine, theirs = verbs
        raise error(
            "DSL0609",
            f"{site.verb} {mine} element {element_text(window.element(bad))} of "
            f"{self.memory.name}, which another statement {theirs} with no barrier between them, "
            f"in {turn.title}",
            site.loc,
            hint="put a sync() between the two",
            labels=() if there is None else (Label(there, f"this {theirs} it"),),
        )
