"""Which checks watch which memories of a kernel."""

from __future__ import annotations

from collections.abc import Callable

from dslc.compiler.interpreter.barriers import Barriers
from dslc.compiler.interpreter.flights import Flights
from dslc.compiler.interpreter.observers import Observer
from dslc.compiler.interpreter.races import Races
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.uses import Uses
from dslc.compiler.ir import Memory, Place


def watch_global(
    uses: Uses,
    memory: Memory,
    shape: tuple[int, ...],
    sites: list[Site],
    title: Callable[[int], str] | None,
) -> tuple[Observer, ...]:
    """The checks of a tensor during a launch; `title` names turns, None where there is one turn."""
    found: list[Observer] = []
    if memory in uses.written and title is not None:
        found.append(Races(memory, shape, sites, uses.ordered, title))
    if memory in uses.written and memory in uses.copied:
        found.append(Flights(memory, shape))
    return tuple(found)


def watch_buffer(
    uses: Uses, memory: Memory, shape: tuple[int, ...], sites: list[Site]
) -> tuple[Observer, ...]:
    """The checks of an on-chip buffer beside those of its initialisation."""
    found: list[Observer] = []
    if memory in uses.copied:
        found.append(Flights(memory, shape))
    if memory.place is Place.SHARED and uses.explicit:
        found.append(Barriers.fresh(memory, shape, sites))
    return tuple(found)
