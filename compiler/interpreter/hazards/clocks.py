"""What one turn knows of the others: who has released what it may rely on.

Happens-before by epochs (Flanagan and Freund, FastTrack, PLDI 2009): a turn's epoch grows at each
release; acquiring an element merges what its releasers knew.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Clock:
    """`epoch` is the turn's own; `seen[t]` says that everything of t before that epoch is over."""

    number: int
    epoch: int = 0
    seen: dict[int, int] = field(default_factory=dict)

    def release(self, into: dict[int, int]) -> None:
        """Publish what the turn did and knows into an element's knowledge."""
        _merge(into, self.seen)
        self.epoch += 1
        into[self.number] = self.epoch

    def acquire(self, known: dict[int, int]) -> None:
        """Learn what was published."""
        _merge(self.seen, known)


def _merge(into: dict[int, int], other: dict[int, int]) -> None:
    for turn, epoch in other.items():
        if into.get(turn, 0) < epoch:
            into[turn] = epoch
