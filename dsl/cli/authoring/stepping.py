"""The commands of `dslc debug` over a recording."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from dslc.compiler.interpreter.recording import Recording
from dslc.frontend.source import read_source

_HELP = """\
step [N], s        to the next statement, or N on        back [N], b       the same backwards
continue, c        to the next breakpoint, or the end    reverse, r        to the one before, or start
break LINE         stop at a line                        clear [LINE]      forget a breakpoint, or all
print NAME[...]    a tile, tensor or number, or a part   watch NAME[...]   print it at every stop
who NAME[i, j]     which statement wrote that element    nan               the first NaN, and where
names              what there is                         list, l           the lines around
quit, q            leave (also: the end of the input)    help, h           this"""


class Stepper:
    """A place in a recording, breakpoints, and what is watched."""

    def __init__(self, recording: Recording, file: Path) -> None:
        self.recording = recording
        self.lines = read_source(file).split("\n")
        self.name = str(file)
        self.stops = list(_statements(recording))  # the last event of each statement that was run
        self.at = 0
        self.breaks: set[int] = set()
        self.watched: list[str] = []

    def run(self) -> None:
        """Read commands until the input or the user ends."""
        click.echo(f"{self.recording.title}: {len(self.stops)} statements; help lists the commands")
        self.show()
        interactive = sys.stdin.isatty()
        while True:
            if interactive:
                click.echo("(tile) ", nl=False)
            line = sys.stdin.readline()
            if not line:
                return
            for command in line.split(";"):
                if not self.obey(command.strip()):
                    return

    def obey(self, command: str) -> bool:
        """Do what a command says; False where it was the last."""
        word, _, rest = command.partition(" ")
        rest = rest.strip()
        match word:
            case "" | "#":
                pass
            case "q" | "quit" | "exit":
                return False
            case "s" | "step" | "n" | "next":
                self.move(int(rest) if rest.isdigit() else 1)
            case "b" | "back":
                self.move(-(int(rest) if rest.isdigit() else 1))
            case "c" | "continue":
                self.seek(1)
            case "r" | "reverse":
                self.seek(-1)
            case "break" if rest.isdigit():
                self.breaks.add(int(rest))
            case "clear":
                self.breaks = self.breaks - {int(rest)} if rest.isdigit() else set()
            case "p" | "print":
                self.print(rest)
            case "watch":
                self.watched.append(rest)
                self.print(rest)
            case "who":
                self.who(rest)
            case "nan":
                self.first_nan()
            case "names":
                click.echo(", ".join(sorted(self.names())))
            case "l" | "list":
                self.show(around=5)
            case _:
                click.echo(_HELP if word in ("h", "help") else f"{command!r}: no command\n{_HELP}")
        return True

    @property
    def moment(self) -> int:
        """The event after which the recording is looked at."""
        return self.stops[self.at]

    @property
    def line(self) -> int:
        """The source line of the statement that was just run."""
        loc = self.recording.events[self.moment].loc
        return loc.line if loc is not None else 0

    def names(self) -> dict[str, Any]:
        """What there is now."""
        return self.recording.names(self.moment)

    def move(self, count: int) -> None:
        """So many statements on, or back."""
        self.at = min(max(self.at + count, 0), len(self.stops) - 1)
        self.show()

    def seek(self, direction: int) -> None:
        """To the next statement with a breakpoint, or as far as there are any."""
        while 0 <= self.at + direction < len(self.stops):
            self.at += direction
            if self.line in self.breaks:
                break
        self.show()

    def show(self, around: int = 0) -> None:
        """Where we are, and what is watched."""
        for number in range(
            max(1, self.line - around), min(len(self.lines), self.line + around) + 1
        ):
            mark = ">" if number == self.line else "*" if number in self.breaks else " "
            click.echo(f"{mark}{number:4} | {self.lines[number - 1]}")
        loops = {n: v for n, v in self.names().items() if isinstance(v, int)}
        if not around and loops:
            click.echo("       " + ", ".join(f"{n} = {v}" for n, v in loops.items()))
        for text in self.watched:
            self.print(text)

    def value(self, text: str) -> Any:
        """The value of `name` or `name[index]`; None, and a word about it, where there is none."""
        found = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text)
        names = self.names()
        if found is None or found[1] not in names:
            click.echo(f"{text!r} is not known here; there are {', '.join(sorted(names))}")
            return None
        value = names[found[1]]
        if found[2] is None:
            return value
        try:
            return np.asarray(value)[_index(found[2])]
        except (IndexError, ValueError) as failure:
            click.echo(f"{text}: {failure}")
            return None

    def print(self, text: str) -> None:
        """Print a value: a tile as a table, with what it is."""
        value = self.value(text)
        if value is None:
            return
        array = np.asarray(value)
        if array.ndim == 0:
            click.echo(f"{text} = {value}")
            return
        numbers = np.asarray(array, np.float64) if array.dtype.kind not in "biu" else array
        shape = "x".join(map(str, array.shape))
        click.echo(f"{text}: {shape}, {numbers.min():.6g} to {numbers.max():.6g}")
        click.echo(np.array2string(numbers, precision=5, suppress_small=False, threshold=400))

    def who(self, text: str) -> None:
        """Go to the statement that wrote an element of a tensor or buffer."""
        found = re.fullmatch(r"\s*(\w+)\s*\[([\d,\s]+)\]\s*", text)
        if found is None:
            click.echo("who NAME[i, j]: an element of a tensor or buffer")
            return
        index = tuple(int(n) for n in found[2].split(","))
        try:
            event = self.recording.writer(found[1], index, self.moment)
        except IndexError as failure:
            click.echo(f"{text}: {failure}")
            return
        if event is None:
            click.echo(f"no statement up to here wrote {text}")
            return
        self.at = next(i for i, stop in enumerate(self.stops) if stop >= event)
        self.show()

    def first_nan(self) -> None:
        """Go to the first statement that made a NaN."""
        for i, stop in enumerate(self.stops):
            first = self.stops[i - 1] + 1 if i else 0
            for event in self.recording.events[first : stop + 1]:
                if event.out is None:
                    continue
                tile = event.frame[self.recording.slots[event.out]]
                if np.asarray(tile).dtype.kind == "f" and np.isnan(tile).any():
                    self.at = i
                    self.show()
                    return
        click.echo("no tile of this turn has a NaN")


def _statements(recording: Recording) -> Iterator[int]:
    """The last event of each run of events that belong to one line."""
    events = recording.events
    for number, event in enumerate(events):
        after = events[number + 1].loc if number + 1 < len(events) else None
        line = event.loc.line if event.loc is not None else 0
        if number + 1 == len(events) or after is None or after.line != line:
            yield number


def _index(text: str) -> tuple[Any, ...]:
    """An index as in the source: numbers and slices."""
    parts: list[Any] = []
    for part in text.split(","):
        numbers = [int(n) if n.strip() else None for n in part.split(":")]
        parts.append(numbers[0] if len(numbers) == 1 else slice(*numbers))
    return tuple(parts)
