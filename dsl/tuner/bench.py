"""What measures configurations: a protocol, so that the search knows no GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dslc.compiler.artifact import Artifact


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: replays that do not count, and samples, whose median is the result."""

    warm: int
    samples: int


QUICK = Effort(1, 5)
FULL = Effort(3, 25)


class Loaded(Protocol):
    """A compiled configuration, ready to be measured over the bench's arguments."""

    def time(self, effort: Effort) -> float:
        """Seconds of a launch."""

    def wrong(self) -> str | None:
        """How its results differ from the reference's; None where they agree.

        The first configuration that is asked becomes the reference.
        """

    def close(self) -> None:
        """Give back what it holds."""


class Bench(Protocol):
    """A device that runs configurations of one kernel for one set of sizes."""

    device: str
    driver: str

    def load(self, artifact: Artifact, predicted: float = 0.0) -> Loaded:
        """Make a configuration ready, whose seconds are predicted.

        DiagnosticError where the device refuses it.
        """

    def works(self) -> bool:
        """Whether the device still runs kernels: after a fault of one, it may not in this process."""

    def close(self) -> None:
        """Give back what it holds."""
