"""What lies on the ways through statements: accesses that are met first and last, and barriers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dslc.compiler.passes.memory.access_relation import Need
from dslc.compiler.passes.memory.ordered_accesses import Access

Met = Mapping[Access, Need]


@dataclass(frozen=True, slots=True)
class Way:
    """The ways through a statement, or several.

    `first` are the accesses that are met from its beginning, each with the barrier that surely comes
    before; `last` those after which its end is reached, with the barrier that comes between. None has
    one of the block. `through` is the barrier on every way from the beginning to the end.
    """

    first: Met = field(default_factory=dict)
    last: Met = field(default_factory=dict)
    through: Need = Need.NONE

    def then(self, other: Way) -> Way:
        """This and the other after it."""
        first = joined(self.first, passed(other.first, self.through))
        last = joined(passed(self.last, other.through), other.last)
        return Way(first, last, max(self.through, other.through))

    def either(self, other: Way) -> Way:
        """One of the two."""
        through = min(self.through, other.through)
        return Way(joined(self.first, other.first), joined(self.last, other.last), through)


def passed(met: Met, barrier: Need) -> Met:
    """What is still met beyond a barrier."""
    if barrier is Need.BLOCK:
        return {}
    return {a: max(n, barrier) for a, n in met.items()}


def joined(x: Met, y: Met) -> Met:
    """What is met on one of two ways, with what lies on both."""
    return {a: min(x.get(a, Need.BLOCK), y.get(a, Need.BLOCK)) for a in (*x, *y)}
