"""What an engine waits for: the gaps of its timeline by the instruction that ended each. *Modelled*."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dslc.runtime.nki_simulator.timeline import Timeline
from dslc.runtime.nki_simulator.trace import Step


@dataclass(frozen=True, slots=True)
class Idle:
    """Gaps that end with one instruction of the source: `wait` is its name, `line` where it stands."""

    wait: str
    line: int
    nanoseconds: float
    room: bool  # its operands are there: it waits for memory that another tile still has


def idle(timeline: Timeline, waits: Mapping[int, set[int]], engine: str) -> list[Idle]:
    """The gaps of an engine, longest together first; `waits` are those for memory used again."""
    free = 0.0
    gaps: Counter[tuple[str, int, bool]] = Counter()
    for number, step in enumerate(timeline.steps):
        if step.queue != engine:
            continue
        gap = timeline.begins[number] - free
        free = timeline.ends[number]
        if gap <= 0.0:
            continue
        others = waits.get(number, set())
        last = max((*step.after, *step.over, *others), key=timeline.done.__getitem__, default=-1)
        if last >= 0:
            cause: Step = timeline.steps[last]
            gaps[cause.name, cause.line, last in others] += gap  # type: ignore[assignment]
    return [Idle(name, line, gap, room) for (name, line, room), gap in gaps.most_common()]
