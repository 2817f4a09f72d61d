"""The commands of `dslc debug` over a recording."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from dslc.cli.authoring.place import shown
from dslc.frontend.source import read_source

HELP = """\
step [N], s        to the next statement, or N on        back [N], b       the same backwards
continue, c        to the next breakpoint, or the end    reverse, r        to the one before, or start
break LINE         stop at a line                        clear [LINE]      forget a breakpoint, or all
print NAME[...]    a tile, tensor or number, or a part   watch NAME[...]   print it at every stop
who NAME[i, j]     which statement wrote that element    nan               the first NaN, and where
names              what there is                         list, l           the lines around
quit, q            leave (also: the end of the input)    help, h           this"""


class Stepper:
    """A place in a recording, breakpoints, and what is watched."""

    place: Any

    def __init__(self, place: Any, file: Path) -> None:
        self.place = place
        self.lines = read_source(file).split("\n")
        self.watched: list[str] = []
        self.commands = HELP

    def run(self) -> None:
        """Read commands until the input or the user ends."""
        self.greet()
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

    def greet(self) -> None:
        """What is followed."""
        click.echo(
            f"{self.place.recording.title}: {len(self.place.stops)} statements; help lists the commands"
        )

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
                self.place.breaks.add(int(rest))
            case "clear":
                self.place.breaks = self.place.breaks - {int(rest)} if rest.isdigit() else set()
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
                self.names()
            case "l" | "list":
                self.show(around=5)
            case _ if self.obey_more(word, rest):
                pass
            case _:
                unknown = "" if word in ("h", "help") else f"{command!r}: no command\n"
                click.echo(unknown + self.commands)
        return True

    def obey_more(self, word: str, rest: str) -> bool:
        """Do what a command of a kind of stepper says; False where it has no such command."""
        return False

    def names(self) -> None:
        """Print what there is."""
        click.echo(", ".join(sorted(self.place.names())))

    def move(self, count: int) -> None:
        """So many statements on, or back."""
        self.place.move(count)
        self.show()

    def seek(self, direction: int) -> None:
        """To the next statement with a breakpoint, or as far as there are any."""
        self.place.seek(direction)
        self.show()

    def show(self, around: int = 0) -> None:
        """Where we are, and what is watched."""
        for number in range(
            max(1, self.place.line - around), min(len(self.lines), self.place.line + around) + 1
        ):
            mark = ">" if number == self.place.line else "*" if number in self.place.breaks else " "
            click.echo(f"{mark}{number:4} | {self.lines[number - 1]}")
        loops = {n: v for n, v in self.place.names().items() if isinstance(v, int)}
        if not around and loops:
            click.echo("       " + ", ".join(f"{n} = {v}" for n, v in loops.items()))
        for text in self.watched:
            self.print(text)

    def print(self, text: str) -> None:
        """Print a value: a tile as a table, with what it is."""
        try:
            value = self.place.value(text)
        except (LookupError, ValueError) as failure:
            click.echo(f"{text}: {failure}")
            return
        apart = " =" if np.ndim(value) == 0 else ":"
        click.echo(f"{text}{apart} {shown(value)}")

    def who(self, text: str) -> None:
        """Go to the statement that wrote an element of a tensor or buffer."""
        match = re.fullmatch(r"\s*(\w+)\s*\[([\d,\s]+)\]\s*", text)
        if match is None:
            click.echo("who NAME[i, j]: an element of a tensor or buffer")
            return
        try:
            wrote = self.place.to_writer(match[1], tuple(int(n) for n in match[2].split(",")))
        except IndexError as failure:
            click.echo(f"{text}: {failure}")
            return
        if wrote:
            self.show()
        else:
            click.echo(f"no statement up to here wrote {text}")

    def first_nan(self) -> None:
        """Go to the first statement that made a NaN."""
        number = self.place.nan()
        if number is None:
            click.echo("no tile of this turn has a NaN")
            return
        self.place.at = number
        self.show()
