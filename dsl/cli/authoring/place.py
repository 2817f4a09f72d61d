"""A place in a recorded turn: statements before and behind it, breakpoints, values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.interpreter.recording import Recording


@dataclass(frozen=True, slots=True)
class Frame:
    """Where something is done: a line of the source, or of the `text` of a program by its number."""

    name: str
    line: int
    text: int | None = None


class Place:
    """Where one is in a recording. `stops` are the last events of its statements in order."""

    texts: tuple[tuple[str, str], ...] = ()  # programs beside the source: names and contents

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.stops = list(_statements(recording))
        self.at = 0
        self.breaks: set[int] = set()

    @property
    def moment(self) -> int:
        """The event after which the recording is looked at."""
        return self.stops[self.at]

    @property
    def line(self) -> int:
        """The source line of the statement that was just run."""
        loc = self.recording.events[self.moment].loc
        return loc.line if loc is not None else 0

    @property
    def lines(self) -> set[int]:
        """The source lines at which it can stop."""
        return {e.loc.line for e in self.recording.events if e.loc is not None}

    @property
    def threads(self) -> tuple[str, ...]:
        """What an editor shows as threads: the turn."""
        return (self.recording.title,)

    def frames(self, thread: int) -> list[Frame]:
        """Where a thread is."""
        return [Frame(self.recording.title, self.line)]

    def scopes(self, thread: int) -> dict[str, Mapping[str, Any]]:
        """What a thread knows, under headings."""
        return {"Names": self.names()}

    @property
    def is_last(self) -> bool:
        """Whether no statement follows."""
        return self.at == len(self.stops) - 1

    def names(self) -> dict[str, Any]:
        """What there is now."""
        return self.recording.names(self.moment)

    def move(self, count: int) -> None:
        """So many statements on, or back."""
        self.at = min(max(self.at + count, 0), len(self.stops) - 1)

    def seek(self, direction: int) -> bool:
        """To the next statement with a breakpoint, or as far as there are any: whether it is one."""
        while 0 <= self.at + direction < len(self.stops):
            self.at += direction
            if self.line in self.breaks:
                return True
        return False

    def value(self, text: str, thread: int = 0) -> Any:
        """The value of `name` or `name[index]`; LookupError or ValueError says why there is none."""
        return value_in(self.names(), text)

    def exception(self, filters: Collection[str], begin: int) -> tuple[int, str] | None:
        """The first stop behind `begin` that a filter asks for: `nan`."""
        found = self.nan() if "nan" in filters else None
        return None if found is None or found <= begin else (found, "a NaN was made here")

    def to_writer(self, name: str, index: tuple[int, ...]) -> bool:
        """Go to the statement that wrote an element last; False where none up to here did."""
        event = self.recording.writer(name, index, self.moment)
        if event is None:
            return False
        self.at = next(i for i, stop in enumerate(self.stops) if stop >= event)
        return True

    def nan(self) -> int | None:
        """The first statement that made a NaN, by its number; None where none did."""
        for i, stop in enumerate(self.stops):
            first = self.stops[i - 1] + 1 if i else 0
            for event in self.recording.events[first : stop + 1]:
                if event.out is None:
                    continue
                tile = np.asarray(event.frame[self.recording.slots[event.out]])
                if tile.dtype.kind == "f" and np.isnan(tile).any():
                    return i
        return None


def _statements(recording: Recording) -> Iterator[int]:
    """The last event of each run of events that belong to one line."""
    events = recording.events
    for number, event in enumerate(events):
        after = events[number + 1].loc if number + 1 < len(events) else None
        line = event.loc.line if event.loc is not None else 0
        if number + 1 == len(events) or after is None or after.line != line:
            yield number


def value_in(names: Mapping[str, Any], text: str) -> Any:
    """The value of `name` or `name[index]`; LookupError or ValueError says why there is none."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text)
    if match is None or match[1] not in names:
        known = ", ".join(sorted(names)) or "none yet"
        raise LookupError(f"{text!r} is not known here; there are {known}")
    value = names[match[1]]
    return value if match[2] is None else np.asarray(value)[_index(match[2])]


def _index(text: str) -> tuple[Any, ...]:
    """An index as in the source: numbers and slices."""
    parts: list[Any] = []
    for part in text.split(","):
        numbers = [int(n) if n.strip() else None for n in part.split(":")]
        parts.append(numbers[0] if len(numbers) == 1 else slice(*numbers))
    return tuple(parts)


def shown(value: Any, most: int = 400) -> str:
    """A value on one line, or a tile as a table under what it is."""
    array = np.asarray(value)
    if array.ndim == 0:
        return str(value)
    numbers = np.asarray(array, np.float64) if array.dtype.kind not in "biu" else array
    shape = "x".join(map(str, array.shape))
    if not array.size:
        return shape
    table = np.array2string(numbers, precision=5, threshold=most)
    return f"{shape}, {numbers.min():.6g} to {numbers.max():.6g}\n{table}"
