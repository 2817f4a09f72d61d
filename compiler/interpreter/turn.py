"""One turn of the parallel nest while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from dslc.compiler.diagnostics import error
from dslc.compiler.interpreter.hazards.clocks import Clock
from dslc.compiler.interpreter.hazards.held import Products
from dslc.compiler.interpreter.phases import Phases
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.steps.copies import Copies

if TYPE_CHECKING:
    from collections.abc import Generator

    from dslc.compiler.interpreter.arena import Arenas
    from dslc.compiler.interpreter.clusters import Cluster
    from dslc.compiler.interpreter.hazards.barriers import Barriers
    from dslc.compiler.interpreter.recording import Recording
    from dslc.compiler.interpreter.scope import Blocked
    from dslc.compiler.ir import Memory


@dataclass(slots=True)
class Met:
    """The barriers for tensors that a turn's threads have passed, and the number of each kind's last.

    One of the block is one of every warp.
    """

    count: int = 0
    block: int = 0
    warp: int = 0

    def pass_barrier(self, warp: int = 0) -> None:
        """All threads meet, or those of each warp."""
        self.count += 1
        self.warp = self.count
        if not warp:
            self.block = self.count


@dataclass(slots=True)
class Turn:
    """A turn's own state: its number and indices, copies under way, barriers passed, what it knows.

    `hazards` are the checks of its shared buffers. `producers` is what its producer warps still have to
    do: in every second turn of a grid they go on as early as they can, else as late as they must. A
    turn of a `cluster` has come to `meetings` of its barriers, and reaches others until these are
    `over`.
    """

    number: int
    names: tuple[str, ...]
    indices: tuple[int, ...]
    stdout: TextIO
    arenas: Arenas
    clock: Clock
    copies: Copies = field(default_factory=Copies)
    products: Products = field(default_factory=Products)
    phases: Phases = field(default_factory=Phases)
    barriers: int = 0
    met: Met = field(default_factory=Met)
    hazards: dict[Memory, Barriers] = field(default_factory=dict)
    waiting: Site | None = None
    producers: Generator[Blocked, None, None] | None = None
    cluster: Cluster | None = None
    meetings: int = 0
    over: bool = False
    recording: Recording | None = None

    def run_producers(self, *, late: bool = False) -> None:
        """Producer warps go on until they wait; where they may be `late`, only if they must."""
        if self.producers is None or (self.number % 2 and not late):
            return
        if next(self.producers, None) is None:
            self.producers = None

    def end(self) -> None:
        """The turn is over: nothing may still be under way."""
        self.run_producers(late=True)
        if self.producers is not None:
            raise error("DSL0612", f"the producer warps wait for ever, in {self.title}")
        self.over = True
        if self.arenas.plan.check:
            self.copies.check_over(self.title)
            self.products.check_over(self.title)
            self.phases.check_over(self.title)

    @property
    def title(self) -> str:
        """How diagnostics name the turn."""
        return turn_title(self.names, self.indices)


def turn_title(names: tuple[str, ...], indices: tuple[int, ...]) -> str:
    """A turn by the indices of its grid: `turn m=0, n=128`."""
    if not names:
        return "the only turn"
    return "turn " + ", ".join(f"{n}={i}" for n, i in zip(names, indices, strict=True))
