"""Barriers with phases: what each still waits for, and the bulk copies that land when a phase ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Memory

if TYPE_CHECKING:
    from dslc.compiler.diagnostics import Loc
    from dslc.compiler.interpreter.steps.copies import Copy
    from dslc.compiler.interpreter.turn import Turn

Key = tuple[Memory, tuple[int, ...]]


@dataclass(slots=True)
class Phase:
    """One barrier: arrivals of a phase and those still missing, bytes announced, copies under way."""

    arrivals: int
    missing: int
    announced: int = 0
    number: int = 0
    copies: list[Copy] = field(default_factory=list)

    @property
    def may_end(self) -> bool:
        """Whether all have arrived, and as many bytes come as were announced."""
        return not self.missing and self.announced == sum(c.bytes for c in self.copies)

    def end(self, turn: Turn) -> None:
        """The copies land, the next phase begins."""
        for copy in self.copies:
            copy.land(turn)
        self.copies = []
        self.missing, self.announced = self.arrivals, 0
        self.number += 1


@dataclass(slots=True)
class Phases:
    """The barriers of a turn by memory and index."""

    all: dict[Key, Phase] = field(default_factory=dict)

    def at(self, key: Key, loc: Loc | None) -> Phase:
        """DSL0612 where no barrier was initialised."""
        phase = self.all.get(key)
        if phase is None:
            name = key[0].name
            text = f"element {list(key[1])} of {name} is used as a barrier before it is one"
            raise error("DSL0612", text, loc, hint="initialise the barriers first")
        return phase

    def check_over(self, title: str) -> None:
        """DSL0605 for a bulk copy whose phase never ended."""
        for phase in self.all.values():
            for copy in phase.copies:
                raise error(
                    "DSL0605",
                    f"the copy into {copy.tensor.memory.name} is never waited for, in {title}",
                    copy.site.loc,
                    hint="wait for the phase of its barrier: what has not landed is lost",
                )
