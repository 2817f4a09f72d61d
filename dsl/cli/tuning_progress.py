"""A tuning's progress on the standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dslc.cli.session import current

if TYPE_CHECKING:
    from dslc.tuner.search import Progress, Report

_BETWEEN = 10.0  # seconds between two lines


@contextmanager
def shown_tuning(label: str) -> Iterator[Report]:
    """What to call with the progress of a tuning."""
    session = current()
    if session.verbosity < 0:
        yield lambda progress: None
    elif sys.stderr.isatty():
        with _bar(label) as report:
            yield report
    else:
        yield _lines(label)


def _lines(label: str) -> Report:
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _BETWEEN:
            last = time.monotonic()
            current().note(f"{label}: {_text(progress)}")

    return report


@contextmanager
def _bar(label: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None, note="")

        def report(progress: Progress) -> None:
            bars.update(
                task,
                description=f"{label}: {progress.phase}",
                completed=progress.done,
                total=progress.total,
                note=_best(progress),
            )

        yield report


def _text(progress: Progress) -> str:
    return f"{progress.phase} {progress.done} of {progress.total}{_best(progress, ', ')}"


def _best(progress: Progress, before: str = "") -> str:
    parts = []
    if progress.seconds is not None:
        parts.append(f"best {progress.seconds * 1e6:.2f} us ({progress.best})")
    if progress.left is not None:
        parts.append(f"{progress.left:.0f} s left")
    return before + ", ".join(parts) if parts else ""
