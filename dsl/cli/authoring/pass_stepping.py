"""The commands of `dslc debug --pass`: both programs beside each other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click
import numpy as np
from dslc.cli.authoring.lockstep import Lockstep, Side
from dslc.cli.authoring.place import shown
from dslc.cli.authoring.stepping import HELP, Stepper

_HELP = (
    HELP
    + """
diff [TOLERANCE]   to the first step that gives something else after the pass; a tolerance is
                   relative to the greatest number, as 1e-6"""
)
_WIDTH = (100, 240)  # columns of the terminal that are used, at least and at most


class PassStepper(Stepper):
    """Steps both programs of a pass; `>` marks what was just done, `.` where a side waits."""

    place: Lockstep

    def __init__(self, place: Lockstep, file: Path) -> None:
        super().__init__(place, file)
        self.commands = _HELP

    def greet(self) -> None:
        """What is followed, how the results compare, and where the programs first differ."""
        before, after = self.place.sides
        both = sum(None not in step for step in self.place.steps)
        click.echo(
            f"{self.place.title}: before and after {after.title}, {len(before.recording.events)} and "
            f"{len(after.recording.events)} instructions, {both} the same; help lists the commands"
        )
        for one in self.place.outputs:
            gap = (
                ""
                if one.difference == 0
                else f", by {one.difference:.3g} ({one.allowed:.3g} allowed)"
            )
            click.echo(f"{one.output}: {one.verdict}{gap}")
        for finding in self.place.findings:
            click.echo(f"after: {finding.code} {finding.message}")
        first = self.place.first_difference()
        if first is None:
            click.echo("no instruction that both have gives anything else")
        else:
            click.echo(f"first difference, {first} steps from here: {self.place.difference(first)}")

    def obey_more(self, word: str, rest: str) -> bool:
        """`diff`, with a tolerance or without."""
        if word != "diff":
            return False
        try:
            tolerance = float(rest or 0)
        except ValueError:
            click.echo("diff [TOLERANCE]: a number, as 1e-6")
            return True
        first = self.place.first_difference(tolerance)
        if first is None:
            click.echo("no instruction that both have gives anything else")
        else:
            self.place.at = first
            self.show()
        return True

    def names(self) -> None:
        """Print what both have, then what one has."""
        before, after = (set(self.place.names(which)) for which in (0, 1))
        for label, some in (
            ("both", before & after),
            ("before", before - after),
            ("after", after - before),
        ):
            if some:
                click.echo(f"{label}: {', '.join(sorted(some))}")

    def show(self, around: int = 1) -> None:
        """Both programs where they are, the source's line, what differs, and what is watched."""
        line = self.place.line
        if 0 < line <= len(self.lines):
            click.echo(f">{line:4} | {self.lines[line - 1].strip()}")
        width = min(max(shutil.get_terminal_size((160, 24)).columns, _WIDTH[0]), _WIDTH[1]) // 2 - 2
        columns = [self._column(which, side, around) for which, side in enumerate(self.place.sides)]
        for left, right in zip(*columns, strict=True):
            click.echo(f"{_cut(left, width):{width}} | {_cut(right, width)}".rstrip())
        difference = self.place.difference()
        if difference is not None:
            click.echo(f"!     {difference}")
        for text in self.watched:
            self.print(text)

    def _column(self, which: int, side: Side, around: int) -> list[str]:
        """The rows of a side around where it is."""
        at = side.row(self.place.moment(which))
        mark = ">" if self.place.steps[self.place.at][which] is not None else "."
        return [
            f"{mark if n == at else ' '}{n:4} {side.rows[n - 1]}" if 0 < n <= len(side.rows) else ""
            for n in range(at - around, at + around + 1)
        ]

    def print(self, text: str) -> None:
        """Print a value on both sides, once where it is the same."""
        found = []
        for which in (0, 1):
            try:
                found.append(self.place.value(text, which))
            except (LookupError, ValueError) as failure:
                click.echo(f"{text}, {('before', 'after')[which]}: {failure}")
        if len(found) == 2 and _is_same(found[0], found[1]):
            click.echo(f"{text}, the same: {shown(found[0])}")
        elif len(found) == 2:
            for label, value in zip(("before", "after"), found, strict=True):
                click.echo(f"{text}, {label}: {shown(value)}")
        elif found:
            click.echo(f"{text}: {shown(found[0])}")


def _is_same(before: Any, after: Any) -> bool:
    """Whether values are equal, NaN to NaN."""
    return np.array_equal(before, after, equal_nan=np.asarray(before).dtype.kind == "f")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
