"""Which of many configurations to look at: a spread of them, then whatever lies beside the best.

Choices of tiles, parts and stages each have a best value that hardly depends on the others, or moves
step by step with them: so the best of all is found among the neighbours of good ones, which differ
from these in one choice. A tenth to a half of the configurations is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from dslc.tuner.space import Configuration, drawn

Values: TypeAlias = tuple[tuple[str, object], ...]  # of one configuration

_SPREAD = 48  # looked at first
_BEST = 4  # of those fed alike, whose neighbours are looked at


class Outlined(Protocol):
    """What choices are compared by: those that are fed alike by their seconds."""

    @property
    def seconds(self) -> float:
        """Of one launch."""
        ...

    @property
    def fed(self) -> bool:
        """Whether a unit copies what warpgroups multiply."""
        ...


def climb(
    configurations: Sequence[Configuration],
    look: Callable[[Configuration], Outlined | None],
) -> None:
    """Ask for the outlines of configurations, None for one that cannot be, until no best has
    neighbours that were not asked for. All have the same names.
    """
    known = {c.values: c for c in configurations}
    values: dict[str, dict[object, None]] = {}
    for configuration in configurations:
        for name, value in configuration.values:
            values.setdefault(name, {})[value] = None
    outlines = {c.values: look(c) for c in drawn(configurations, _SPREAD, seed=0)}
    while True:
        beside = {
            near: known[near]
            for one in _best(outlines)
            for near in _neighbours(one, values)
            if near in known and near not in outlines
        }
        if not beside:
            return
        outlines.update((near, look(c)) for near, c in beside.items())


def _best(found: Mapping[Values, Outlined | None]) -> list[Values]:
    """The first few of those fed and of the others: their outlines do not compare."""
    outlined = [(o, one) for one, o in found.items() if o is not None]
    outlined.sort(key=lambda pair: pair[0].seconds)
    kinds: list[dict[float, Values]] = [{}, {}]  # of equals, which some choice parts, the first
    for o, one in outlined:
        kinds[o.fed].setdefault(o.seconds, one)
    return [one for kind in kinds for one in list(kind.values())[:_BEST]]


def _neighbours(one: Values, values: Mapping[str, Mapping[object, None]]) -> Iterator[Values]:
    for at, (name, own) in enumerate(one):
        for other in values[name]:
            if other != own:
                yield (*one[:at], (name, other), *one[at + 1 :])
