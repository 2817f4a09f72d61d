"""Turns that wait for one another: one after the other until each has ended or all wait."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator

from dslc.compiler.diagnostics import Label, error
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.scope import TURN, Flow, Frame, Ready


def run_flows(flow: Flow, frames: Iterator[Frame], total: int, options: Options) -> None:
    """Run every frame's flow to its end.

    A turn runs until it waits; then a turn that may go on does, else the next one starts. With a seed
    the choice among these is random. DSL0607 where every turn waits.
    """
    choose = random.Random(options.shuffle)
    waiting: list[tuple[Frame, Generator[Ready, None, None], Ready]] = []
    done, started = 0, 0
    while done < total:
        ready = [n for n, (_, _, is_ready) in enumerate(waiting) if is_ready()]
        fresh = started < total
        if not ready and not fresh:
            raise _deadlock([f for f, _, _ in waiting])
        pick = choose.randrange(len(ready) + fresh) if options.shuffle is not None else 0
        if pick < len(ready):
            frame, running, _ = waiting.pop(ready[pick])
        else:
            frame = next(frames)
            running = flow(frame)
            started += 1
        blocked = next(running, None)
        if blocked is not None:
            waiting.append((frame, running, blocked))
            continue
        frame[TURN].end()
        done += 1
        if options.progress is not None:
            options.progress(done, total)


def _deadlock(frames: list[Frame]) -> Exception:
    turns = [f[TURN] for f in frames]
    site = turns[0].waiting
    shown = "; ".join(t.title for t in turns[:4]) + ("; ..." if len(turns) > 4 else "")
    labels = tuple(
        Label(loc, "another turn waits here")
        for loc in dict.fromkeys(t.waiting.loc for t in turns[1:])
        if loc is not None and loc != site.loc
    )
    return error(
        "DSL0607",
        f"all turns that are left wait for a semaphore: {shown}",
        site.loc,
        hint="no turn will release it: the value waited for is never set",
        labels=labels,
    )
