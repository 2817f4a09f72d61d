"""Races between parallel turns on global memory.

Two turns race on an element if both access it, at least one of them writes, they are not both atomic,
and nothing orders them: no release that the later one has acquired (see `clocks`). Each element
remembers its last write and its last two reads and atomic accesses by different turns; so no order of
turns makes a false alarm, and a race of a write with one of many reads may rest unseen only if later
reads are ordered and earlier ones are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import Label, error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards.observers import Observer, element_text
from dslc.compiler.interpreter.scope import Scope, Site
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window
from dslc.compiler.ir import Memory

_PAST = {"write": "writes", "read": "reads", "atomic": "atomically adds to"}


@dataclass(slots=True)
class _Record:
    """The last access of each element: (turn + 1) * sites + site, 0 where there was none, its epoch."""

    tokens: Array
    epochs: Array | None


@dataclass(slots=True)
class Races(Observer):
    """The accesses of one memory during a launch; `ordered` where turns may synchronise at all."""

    memory: Memory
    shape: tuple[int, ...]
    sites: list[Site]
    token: type[np.integer[Any]]
    ordered: bool
    title: Callable[[int], str]
    records: dict[str, list[_Record]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        memory: Memory,
        shape: tuple[int, ...],
        turns: int,
        scope: Scope,
        title: Callable[[int], str],
    ) -> Races:
        """No access yet."""
        small = (turns + 1) * (len(scope.sites) + 1) < 2**31
        token = np.int32 if small else np.int64
        return cls(memory, shape, scope.sites, token, scope.uses.ordered, title)

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0606 where another turn has written."""
        self._check(turn, window, site, "read", ("write", "atomic"))
        self._remember(turn, window, site, "read", 2)

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0606 where another turn has read or written."""
        self._check(turn, window, site, "write", ("write", "read", "atomic"))
        self._remember(turn, window, site, "write", 1)

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0606 where another turn has read or written, but not atomically."""
        self._check(turn, window, site, "atomic", ("write", "read"))
        self._remember(turn, window, site, "atomic", 2)

    def _check(
        self, turn: Turn, window: Window, site: Site, kind: str, against: tuple[str, ...]
    ) -> None:
        for other in against:
            for record in self.records.get(other, ()):
                tokens = np.asarray(record.tokens[window.index])
                bad = self._foreign(turn, tokens)
                if bad.any() and record.epochs is not None:
                    bad &= ~self._before(turn, tokens, bad, np.asarray(record.epochs[window.index]))
                if bad.any():
                    token = int(tokens[np.unravel_index(np.argmax(bad), bad.shape)])
                    raise self._race(turn, window.element(bad), site, (kind, other), token)

    def _foreign(self, turn: Turn, tokens: Array) -> Array:
        """Which of the accesses were another turn's."""
        count = len(self.sites) + 1
        mine = (turn.number + 1) * count
        return np.asarray((tokens != 0) & ((tokens < mine) | (tokens >= mine + count)))

    def _before(self, turn: Turn, tokens: Array, bad: Array, epochs: Array) -> Array:
        """Which of them the turn knows to be over."""
        others = tokens // (len(self.sites) + 1) - 1
        known = np.zeros(tokens.shape, np.int64)
        for other in np.unique(others[bad]):
            known[others == other] = turn.clock.seen.get(int(other), 0)
        return np.asarray(epochs < known)

    def _remember(self, turn: Turn, window: Window, site: Site, kind: str, depth: int) -> None:
        if kind not in self.records:
            self.records[kind] = [self._blank() for _ in range(depth)]
        last, *older = self.records[kind]
        for record in older:
            tokens = np.asarray(last.tokens[window.index])
            foreign = self._foreign(turn, tokens)
            if foreign.any():
                record.tokens[window.index] = np.where(foreign, tokens, record.tokens[window.index])
                if record.epochs is not None and last.epochs is not None:
                    record.epochs[window.index] = np.where(
                        foreign, last.epochs[window.index], record.epochs[window.index]
                    )
        last.tokens[window.index] = (turn.number + 1) * (len(self.sites) + 1) + site.number
        if last.epochs is not None:
            last.epochs[window.index] = turn.clock.epoch

    def _blank(self) -> _Record:
        epochs = np.zeros(self.shape, np.int32) if self.ordered else None
        return _Record(np.zeros(self.shape, self.token), epochs)

    def _race(
        self, turn: Turn, element: tuple[int, ...], site: Site, kinds: tuple[str, str], token: int
    ) -> Exception:
        other, number = divmod(token, len(self.sites) + 1)
        there = self.sites[number - 1]
        mine, theirs = (_PAST[k] for k in kinds)
        labels: tuple[Label, ...] = ()
        if there.loc is not None:
            labels = (Label(there.loc, f"{self.title(other - 1)} {theirs} it here"),)
        return error(
            "DSL0606",
            f"parallel turns race: {turn.title} {mine} element {element_text(element)} of "
            f"{self.memory.name}, which {self.title(other - 1)} {theirs}",
            site.loc,
            hint="turns run in any order: give each its own elements, or use atomic additions",
            labels=labels,
        )
