"""Elements that asynchronous copies are reading or writing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards.observers import Observer, element_text
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window
from dslc.compiler.ir import Memory


@dataclass(slots=True)
class Flights(Observer):
    """How many of a turn's copies under way read (`held`) and write (`reserved`) each element."""

    memory: Memory
    shape: tuple[int, ...]
    held: dict[int, Array] = field(default_factory=dict)
    reserved: dict[int, Array] = field(default_factory=dict)

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0604 where a copy has not landed."""
        self._check(turn, window, site, self.reserved, "is read before its copy has landed")

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0604 where a copy still reads or writes."""
        self._check(
            turn, window, site, self.reserved, "is written while a copy into it is under way"
        )
        self._check(turn, window, site, self.held, "is overwritten while a copy still reads it")

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0604 as for a write."""
        self.write(turn, window, site)

    def hold(self, turn: Turn, window: Window, site: Site) -> None:
        """A copy reads from here until it lands."""
        self._counts(self.held, turn)[window.index] += 1

    def reserve(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0604 where another copy is under way."""
        self.write(turn, window, site)
        self._counts(self.reserved, turn)[window.index] += 1

    def free(self, turn: Turn, window: Window, reserved: bool) -> None:
        """The copy has landed."""
        self._counts(self.reserved if reserved else self.held, turn)[window.index] -= 1

    def _counts(self, counts: dict[int, Array], turn: Turn) -> Array:
        if turn.number not in counts:
            counts[turn.number] = np.zeros(self.shape, np.int16)
        return counts[turn.number]

    def _check(
        self, turn: Turn, window: Window, site: Site, counts: dict[int, Array], what: str
    ) -> None:
        if turn.number not in counts:
            return
        bad = np.asarray(counts[turn.number][window.index] > 0)
        if bad.any():
            raise error(
                "DSL0604",
                f"element {element_text(window.element(bad))} of {self.memory.name} {what}, "
                f"in {turn.title}",
                site.loc,
                hint="add commit() after the copies and wait(n) before this",
            )
