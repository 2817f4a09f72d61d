"""Two programs of one kernel, before and after a pass, stepped through side by side.

An instruction of one is that of the other which has its place in the source, makes a tile of its name
and type, and is as manieth of these. What only one side has is a step of that side alone. A difference
is a number of a tile, or of what was written, that is not the same on both sides; NaN is equal to NaN.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.cli.authoring.place import Frame, value_in
from dslc.cli.verification import Comparison
from dslc.compiler.diagnostics import Diagnostic
from dslc.compiler.dtypes import decode
from dslc.compiler.interpreter.recording import Event, Recording
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.printer import print_placed

Step = tuple[int | None, int | None]
"""The events of both sides that are done at one time; None where a side does nothing."""


class Side:
    """One of the programs: its text, its recorded events, and the line of each in the text."""

    def __init__(self, title: str, kernel: Kernel, recording: Recording) -> None:
        self.title = title
        self.recording = recording
        text, self._lines = print_placed(kernel)
        self.rows = text.rstrip("\n").split("\n")
        self.breaks: set[int] = set()  # rows

    def row(self, event: int) -> int:
        """The line of an event in the program's text, from 1; 0 ahead of the first."""
        return self._lines.get(self.recording.events[event].instruction, 0) if event >= 0 else 0

    def names(self, moment: int) -> dict[str, Any]:
        """What there is after an event; nothing ahead of the first."""
        return self.recording.names(moment) if moment >= 0 else {}


@dataclass(frozen=True, slots=True)
class Difference:
    """How much of a tile or memory differs, and the element that differs most."""

    name: str
    count: int
    size: int
    at: tuple[int, ...]
    before: Any
    after: Any

    def __str__(self) -> str:
        element = f"{self.name}[{', '.join(map(str, self.at))}]"
        return (
            f"{self.count} of {self.size} elements of {self.name} differ, {element} most: "
            f"{self.before} before, {self.after} after"
        )


class Lockstep:
    """A place in both recordings. It moves like a `Place`; `sides` are before and after.

    `outputs` say how the tensors compare that the launches wrote, `findings` what the interpreter
    found wrong in the later program.
    """

    def __init__(
        self,
        before: Side,
        after: Side,
        outputs: list[Comparison],
        findings: tuple[Diagnostic, ...] = (),
    ) -> None:
        self.sides = (before, after)
        self.outputs = outputs
        self.findings = findings
        self.steps = list(_aligned(before.recording.events, after.recording.events))
        self._moments = list(_moments(self.steps))
        self.at = 0
        self.breaks: set[int] = set()

    @property
    def title(self) -> str:
        """The turn that is followed."""
        return self.sides[0].recording.title

    @property
    def line(self) -> int:
        """The source line of what was just done, 0 where nothing says."""
        for side, event in zip(self.sides, self.steps[self.at], strict=True):
            loc = None if event is None else side.recording.events[event].loc
            if loc is not None:
                return loc.line
        return 0

    @property
    def lines(self) -> set[int]:
        """The source lines at which it can stop."""
        return {e.loc.line for s in self.sides for e in s.recording.events if e.loc is not None}

    @property
    def is_last(self) -> bool:
        """Whether nothing follows on either side."""
        return self.at == len(self.steps) - 1

    @property
    def threads(self) -> tuple[str, ...]:
        """What an editor shows as threads: each side."""
        return tuple(f"{word} {self.sides[1].title}: {self.title}" for word in ("before", "after"))

    @property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The programs of both sides."""
        name = self.sides[1].title
        return tuple(
            (f"{word} {name}.tir", "\n".join(side.rows))
            for word, side in zip(("before", "after"), self.sides, strict=True)
        )

    def frames(self, thread: int) -> list[Frame]:
        """Where a side is in its program, and in the source."""
        side, moment = self.sides[thread], self.moment(thread)
        loc = side.recording.events[moment].loc if moment >= 0 else None
        frames = [Frame(self.threads[thread], side.row(moment) or 1, thread)]
        return frames + ([Frame("source", loc.line)] if loc is not None else [])

    def scopes(self, thread: int) -> dict[str, Mapping[str, Any]]:
        """What a side knows, and what differs between both."""
        found = self.difference()
        scopes: dict[str, Mapping[str, Any]] = {"Names": self.names(thread)}
        if found is not None:
            at = f"{found.name}[{', '.join(map(str, found.at))}]"
            scopes["Differs"] = {f"{at} before": found.before, f"{at} after": found.after}
        return scopes

    def exception(self, filters: Collection[str], begin: int) -> tuple[int, str] | None:
        """The first step behind `begin` that a filter asks for: `nan`, `difference`."""
        found = []
        if "nan" in filters and (step := self.nan()) is not None:
            found.append((step, "a NaN was made here"))
        if "difference" in filters and (step := self.first_difference()) is not None:
            found.append((step, str(self.difference(step))))
        return min((f for f in found if f[0] > begin), default=None)

    def moment(self, which: int) -> int:
        """The last event of a side up to here; -1 ahead of its first."""
        return self._moments[self.at][which]

    def move(self, count: int) -> None:
        """So many steps on, or back."""
        self.at = min(max(self.at + count, 0), len(self.steps) - 1)

    def seek(self, direction: int) -> bool:
        """To the next step with a breakpoint, or as far as there are any: whether it is one."""
        while 0 <= self.at + direction < len(self.steps):
            self.at += direction
            if self.line in self.breaks or self._at_row():
                return True
        return False

    def _at_row(self) -> bool:
        """Whether a side has just done a row of its program that has a breakpoint."""
        return any(
            event is not None and side.row(event) in side.breaks
            for side, event in zip(self.sides, self.steps[self.at], strict=True)
        )

    def names(self, which: int) -> dict[str, Any]:
        """What a side knows now."""
        return self.sides[which].names(self.moment(which))

    def value(self, text: str, which: int = 1) -> Any:
        """The value of `name` or `name[index]` on a side; LookupError or ValueError where none is."""
        return value_in(self.names(which), text)

    def difference(self, step: int | None = None, tolerance: float = 0.0) -> Difference | None:
        """What differs at a step that both sides do; by default the one of now.

        `tolerance` is the greatest difference, of the greatest number of the tile, that is none.
        """
        before, after = self.steps[self.at if step is None else step]
        if before is None or after is None:
            return None
        events = [s.recording.events[e] for s, e in zip(self.sides, (before, after), strict=True)]
        made = [_made(s, e) for s, e in zip(self.sides, events, strict=True)]
        if made[0] is None or made[1] is None:
            return None
        return difference(made[0][0], made[0][1], made[1][1], tolerance)

    def first_difference(self, tolerance: float = 0.0) -> int | None:
        """The first step at which both sides do the same and get something else."""
        steps = range(len(self.steps))
        return next((n for n in steps if self.difference(n, tolerance) is not None), None)

    def nan(self) -> int | None:
        """The first step at which either side made a NaN."""
        for number, step in enumerate(self.steps):
            for side, event in zip(self.sides, step, strict=True):
                made = None if event is None else _made(side, side.recording.events[event])
                if made is not None and made[1].dtype.kind == "f" and np.isnan(made[1]).any():
                    return number
        return None

    def to_writer(self, name: str, index: tuple[int, ...]) -> bool:
        """Go to the last step up to here that wrote an element, on either side."""
        found = [
            event
            for which, side in enumerate(self.sides)
            if (
                event := self._step_of(
                    which, side.recording.writer(name, index, self.moment(which))
                )
            )
            is not None
        ]
        if found:
            self.at = max(found)
        return bool(found)

    def _step_of(self, which: int, event: int | None) -> int | None:
        if event is None:
            return None
        return next(n for n, step in enumerate(self.steps) if step[which] == event)


def difference(name: str, before: Any, after: Any, tolerance: float = 0.0) -> Difference | None:
    """How two arrays differ; None where they do not, or cannot be compared."""
    x, y = np.asarray(before), np.asarray(after)
    if x.shape != y.shape or not x.size:
        return None
    wide, other = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.abs(np.where((x == y) | (np.isnan(wide) & np.isnan(other)), 0.0, wide - other))
    gap = np.where(np.isnan(gap), np.inf, gap)
    finite = np.abs(wide[np.isfinite(wide)])
    bad = gap > tolerance * float(finite.max(initial=0.0))
    if not bad.any():
        return None
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(gap)), x.shape))
    return Difference(name, int(bad.sum()), x.size, at, x[at], y[at])


def _made(side: Side, event: Event) -> tuple[str, Any] | None:
    """The tile that an event made, or the memory as it left it."""
    if event.out is not None:
        return event.out.name or "it", np.asarray(event.frame[side.recording.slots[event.out]])
    if event.memory is not None and event.codes is not None:
        return event.memory.name, np.asarray(decode(event.codes, event.memory.dtype))
    return None


def _aligned(before: list[Event], after: list[Event]) -> Iterator[Step]:
    """The steps, in the order of both sides."""
    matcher = difflib.SequenceMatcher(None, list(_keys(before)), list(_keys(after)), autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(range(i, i_end), range(j, j_end), strict=True)
        else:
            yield from ((n, None) for n in range(i, i_end))
            yield from ((None, n) for n in range(j, j_end))


def _keys(events: list[Event]) -> Iterator[tuple[Any, ...]]:
    """What tells which event of the other side is the same one."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for event in events:
        place = None if event.loc is None else (event.loc.line, event.loc.col)
        made = event.out and (event.out.name, event.out.type.dtype, event.out.type.shape)
        key = (type(event.instruction).__name__, place, made, event.memory and event.memory.name)
        seen[key] += 1
        yield (*key, seen[key])


def _moments(steps: list[Step]) -> Iterator[tuple[int, int]]:
    """The last event of each side after every step."""
    before = after = -1
    for first, second in steps:
        before = before if first is None else first
        after = after if second is None else second
        yield before, after
