"""Turns that wait for one another: one after the other until each has ended or all wait."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.diagnostics import Label, error
from dslc.compiler.interpreter.hazards.observers import Observer
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.scope import TURN, Blocked, Flow, Frame, Site, Step
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window
from dslc.compiler.ir import Memory

Key: TypeAlias = tuple[Memory, tuple[int, ...] | None]  # an element, or all of a memory


@dataclass(slots=True)
class Wakeups(Observer):
    """Notes what is written of a semaphore memory; `changed` is shared by those of all memories."""

    memory: Memory
    changed: list[Key]

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """Turns that wait for these elements may go on."""
        self.changed.append((self.memory, window.only))

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """As for a write."""
        self.write(turn, window, site)


@dataclass(frozen=True, slots=True)
class _Waiting:
    frame: Frame
    running: Generator[Blocked, None, None]
    blocked: Blocked


def run_steps(step: Step, frames: Iterator[Frame], total: int, options: Options) -> None:
    """Run turns that never wait, each from its beginning to its end."""
    for done, frame in enumerate(frames, 1):
        step(frame)
        frame[TURN].end()
        if options.progress is not None:
            options.progress(done, total)


def run_flows(
    flow: Flow, frames: Iterator[Frame], total: int, changed: list[Key], options: Options
) -> None:
    """Run every frame's flow to its end.

    A turn runs until it waits; then a turn that may go on does, else the next one starts. With a seed
    the choice among these is random. `changed` is what `Wakeups` note. DSL0607 where every turn waits.
    """
    choice = random.Random(options.shuffle) if options.shuffle is not None else None
    waiting: dict[Key, list[_Waiting]] = {}
    ready: list[_Waiting] = []
    done, started = 0, 0
    while done < total:
        fresh = started < total
        if not ready and not fresh:
            raise _deadlock([w.frame for ws in waiting.values() for w in ws])
        pick = choice.randrange(len(ready) + fresh) if choice else 0
        if pick < len(ready):
            resumed = ready.pop(pick)
            frame, running = resumed.frame, resumed.running
        else:
            frame = next(frames)
            running = flow(frame)
            started += 1
        blocked = next(running, None)
        if blocked is not None:
            assert blocked.memory is not None
            key = (blocked.memory, blocked.element)
            waiting.setdefault(key, []).append(_Waiting(frame, running, blocked))
        else:
            frame[TURN].end()
            done += 1
            if options.progress is not None:
                options.progress(done, total)
        ready += _woken(waiting, changed)


def _woken(waiting: dict[Key, list[_Waiting]], changed: list[Key]) -> list[_Waiting]:
    """The turns whose semaphore has its value now, taken from those that wait."""
    woken: list[_Waiting] = []
    for memory, element in dict.fromkeys(changed):
        keys = [(memory, element)]
        if element is None:
            keys = [k for k in waiting if k[0] is memory]
        for key in keys:
            parts: tuple[list[_Waiting], list[_Waiting]] = ([], [])
            for w in waiting.pop(key, ()):
                parts[w.blocked.is_ready()].append(w)
            woken += parts[True]
            if parts[False]:
                waiting[key] = parts[False]
    changed.clear()
    return woken


def _deadlock(frames: list[Frame]) -> Exception:
    turns: list[Turn] = [f[TURN] for f in frames]
    shown = "; ".join(t.title for t in turns[:4]) + ("; ..." if len(turns) > 4 else "")
    places = list(dict.fromkeys(t.waiting.loc for t in turns if t.waiting and t.waiting.loc))
    return error(
        "DSL0607",
        f"all turns that are left wait for a semaphore: {shown}",
        places[0] if places else None,
        hint="no turn will release it: the value waited for is never set",
        labels=tuple(Label(loc, "another turn waits here") for loc in places[1:]),
    )
