"""Hazards on tensors: accesses of one element by different threads of a turn, no barrier between.

A kernel for threads says itself where they meet (`passes.memory.memory_order`). What one access wrote
another may read or overwrite, and what one has read another may overwrite, only if the same thread
does, or if a barrier of the block lies between, or one of warps and both stay within a warp. An access
does not disturb itself, but what a statement does in a later iteration of a loop is another access.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from dslc.compiler.diagnostics import Label, error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards.observers import Observer, element_text
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window
from dslc.compiler.ir import Memory

_MEANINGS = {
    "write": ("writes", "wrote"), "read": ("reads", "read"), "add": ("adds to", "added to"),
    "fetch": ("adds to", "added to"),
}  # fmt: skip
_FREE = ({"read"}, {"add"})  # accesses that do not disturb others of their kind
_TURN = 1 << 32  # more barriers than a turn passes


@dataclass(frozen=True, slots=True)
class Last:
    """The last access of each element: its thread, warp and statement, and its stamp.

    A stamp is turn * _TURN + barriers passed + 1.
    """

    stamps: Array
    threads: Array
    warps: Array
    sites: Array

    @classmethod
    def fresh(cls, shape: tuple[int, ...]) -> Last:
        """No access yet."""
        none = (np.full(shape, -1, np.int32) for _ in range(3))
        return cls(np.full(shape, -1, np.int64), *none)


@dataclass(slots=True)
class Order(Observer):
    """The accesses of one tensor's elements, by kind."""

    memory: Memory
    shape: tuple[int, ...]
    sites: list[Site]
    last: dict[str, Last] = field(default_factory=dict)

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0613 where another thread may not have written yet."""
        self._access(turn, window, site, "read")

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0613 where another thread may still read or write."""
        self._access(turn, window, site, "write")

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0613 as for a write; additions that do not say what stood there do not disturb others."""
        self._access(turn, window, site, "fetch" if site.fetches else "add")

    def _access(self, turn: Turn, window: Window, site: Site, kind: str) -> None:
        for other in _MEANINGS:
            if other in self.last and {kind, other} not in _FREE:
                self._check(turn, window, site, kind, other)
        self._remember(turn, window, site, kind)

    def _check(self, turn: Turn, window: Window, site: Site, kind: str, other: str) -> None:
        last, index = self.last[other], window.index
        open_, alone = self._open(turn, last, window)
        thread, warp = _movers(site.owners, window), _movers(site.warps, window)
        same = (thread >= 0) & (thread == last.threads[index])
        near = ~alone & (warp >= 0) & (warp == last.warps[index])
        bad = np.asarray(open_ & ~same & ~near)
        if bad.any():
            number = int(last.sites[index][np.unravel_index(np.argmax(bad), bad.shape)])
            raise self._hazard(turn, window.element(bad), site, number, kind, other)

    def _remember(self, turn: Turn, window: Window, site: Site, kind: str) -> None:
        last, index = self.last.setdefault(kind, Last.fresh(self.shape)), window.index
        open_, alone = self._open(turn, last, window)
        thread, warp = _movers(site.owners, window), _movers(site.warps, window)
        # Others since the last barrier: what comes next must be apart from all of them.
        strange = open_ & (last.warps[index] != warp)
        shared = strange | (alone & (last.threads[index] != thread))
        last.threads[index] = np.where(shared, -1, thread)
        last.warps[index] = np.where(strange, -1, warp)
        last.stamps[index] = turn.number * _TURN + turn.met.count + 1
        last.sites[index] = site.number

    def _open(self, turn: Turn, last: Last, window: Window) -> tuple[Array, Array]:
        """Which accesses no barrier of the block has followed, and which not even one of warps."""
        met, stamps = turn.met, last.stamps[window.index] - turn.number * _TURN
        here = stamps < _TURN
        return np.asarray(here & (stamps > met.block)), np.asarray(here & (stamps > met.warp))

    def _hazard(
        self, turn: Turn, element: tuple[int, ...], site: Site, number: int, kind: str, other: str
    ) -> Exception:
        there, past = self.sites[number - 1].loc, _MEANINGS[other][1]
        return error(
            "DSL0613",
            f"{site.verb} {_MEANINGS[kind][0]} element {element_text(element)} of "
            f"{self.memory.name}, which another thread {past} with no barrier between them, "
            f"in {turn.title}",
            site.loc,
            hint="put a `memory_barrier` between the two",
            labels=() if there is None else (Label(there, f"this {past} it"),),
        )


def _movers(owners: Array | None, window: Window) -> Array:
    """The thread, or warp, that moves each element of the window; -1 where that may be several."""
    if owners is None or owners.shape != window.shape:
        return np.asarray(-1, np.int32)
    return np.asarray(window.part(owners))
