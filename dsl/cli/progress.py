"""A bar of turns for runs that take long, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from dslc.cli.session import current

_PATIENCE = 1.0  # seconds before a bar appears


@contextmanager
def shown_progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with the turns done and the turns in all; None where no bar is to be shown."""
    session = current()
    if session.verbosity < 0 or not sys.stderr.isatty():
        yield None
        return
    begin = time.monotonic()
    with ExitStack() as stack:
        draw: Callable[[int, int], None] | None = None

        def advance(done: int, total: int) -> None:
            nonlocal draw
            if draw is None and time.monotonic() - begin > _PATIENCE:
                draw = stack.enter_context(_bar(label))
            if draw is not None:
                draw(done, total)

        yield advance


@contextmanager
def _bar(label: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def shown_steps(label: str) -> Iterator[Callable[[str], None]]:
    """What to call with the name of each step: shown while it runs, on a terminal only."""
    session = current()
    if session.verbosity < 0 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(label) as status:
        yield lambda step: status.update(f"{label}: {step}")
