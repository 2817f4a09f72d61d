"""One turn of the parallel nest while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TextIO

from dslc.compiler.interpreter.arena import Arenas
from dslc.compiler.interpreter.clocks import Clock
from dslc.compiler.interpreter.copies import Copies
from dslc.compiler.interpreter.scope import Site


@dataclass(slots=True)
class Turn:
    """A turn's own state: its number and indices, copies under way, barriers passed, what it knows."""

    number: int
    names: tuple[str, ...]
    indices: tuple[int, ...]
    stdout: TextIO
    arenas: Arenas
    clock: Clock
    copies: Copies = field(default_factory=Copies)
    barriers: int = 0
    waiting: Site | None = None

    def end(self) -> None:
        """The turn is over: nothing may still be under way."""

    @property
    def title(self) -> str:
        """How diagnostics name the turn: `turn m=0, n=128`."""
        if not self.names:
            return "the only turn"
        return "turn " + ", ".join(
            f"{n}={i}" for n, i in zip(self.names, self.indices, strict=True)
        )
