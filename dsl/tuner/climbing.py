"""Which of many configurations to look at: a spread of them, then whatever lies beside the best.

Choices of tiles, parts and stages each have a best value that hardly depends on the others, or moves
step by step with them: so the best of all is found among the neighbours of good ones, which differ
from these in one choice. A tenth to a third of the configurations is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dslc.tuner.space import Configuration, drawn

_SPREAD = 96  # looked at first
_BEST = 4  # whose neighbours are looked at


def climb(
    configurations: Sequence[Configuration],
    seconds: Callable[[Configuration], float | None],
) -> None:
    """Ask for the seconds of configurations, None for one that cannot be, until no best has neighbours
    that were not asked for. All have the same names.
    """
    known = {c.values: c for c in configurations}
    values: dict[str, dict[object, None]] = {}
    for configuration in configurations:
        for name, value in configuration.values:
            values.setdefault(name, {})[value] = None
    found = {c.values: seconds(c) for c in drawn(configurations, _SPREAD, seed=0)}
    while True:
        priced = sorted((t, at) for at, (_, t) in enumerate(found.items()) if t is not None)
        asked = list(found)
        beside = {
            near: known[near]
            for _, at in priced[:_BEST]
            for near in _neighbours(asked[at], values)
            if near in known and near not in found
        }
        if not beside:
            return
        found.update((near, seconds(c)) for near, c in beside.items())


def _neighbours(
    one: tuple[tuple[str, object], ...], values: dict[str, dict[object, None]]
) -> Iterator[tuple[tuple[str, object], ...]]:
    for at, (name, own) in enumerate(one):
        for other in values[name]:
            if other != own:
                yield (*one[:at], (name, other), *one[at + 1 :])
