"""Processes in modelled time: each yields the cycles it takes, or a signal that it waits for."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeAlias

_LOOKS = 256  # steps between two looks at the clock


@dataclass(slots=True, eq=False)
class Signal:
    """What processes wait for: a state that others change. `what` says it, `owners` who could."""

    what: str
    owners: tuple[str, ...] = ()
    waiting: list[Process] = field(default_factory=list)


Steps: TypeAlias = Generator[float | Signal, None, None]


@dataclass(slots=True, eq=False)
class Process:
    """A core, a DMA channel or the host. A `server` has no end of its own: it may wait for ever."""

    name: str
    steps: Steps
    server: bool = True
    blocked: Signal | None = None
    done: bool = False
    busy: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)


class Engine:
    """Runs processes in the order of their times."""

    def __init__(self) -> None:
        self.now = 0.0
        self.idle = Signal("nobody to go on")
        self.processes: list[Process] = []
        self._queue: list[tuple[float, int, Process]] = []
        self._count = 0

    def start(self, process: Process) -> None:
        """A process begins now."""
        self.processes.append(process)
        self._push(self.now, process)

    def stop(self, processes: list[Process]) -> None:
        """These run no further."""
        gone = set(map(id, processes))
        for process in processes:
            process.done = True
        self.processes = [p for p in self.processes if id(p) not in gone]
        self._queue = [entry for entry in self._queue if id(entry[2]) not in gone]
        heapq.heapify(self._queue)

    def notify(self, signal: Signal) -> None:
        """Whoever waits for the signal looks again."""
        waiting, signal.waiting = signal.waiting, []
        for process in waiting:
            process.blocked = None
            if not process.done:
                self._push(self.now, process)

    def run(self, until: float = math.inf) -> None:
        """Until nobody can go on; who waits for just that goes on then.

        TimeoutError where that lasts beyond `until`, of time.monotonic().
        """
        for count in itertools.count():
            if not self._queue and not self.idle.waiting:
                return
            if count % _LOOKS == 0 and time.monotonic() > until:
                raise TimeoutError
            if not self._queue:
                self.notify(self.idle)
            self.now, _, process = heapq.heappop(self._queue)
            try:
                found = next(process.steps)
            except StopIteration:
                process.done = True
                continue
            if isinstance(found, Signal):
                process.blocked = found
                found.waiting.append(process)
            else:
                process.busy += found
                if found:
                    process.spans.append((self.now, self.now + found))
                self._push(self.now + found, process)

    def _push(self, at: float, process: Process) -> None:
        self._count += 1
        heapq.heappush(self._queue, (at, self._count, process))


def wait_graph(processes: list[Process]) -> list[str]:
    """Who waits for what, and who could bring it about: those first that the host's wait leads to."""
    lines = []
    by_name = {p.name: p for p in processes}
    todo = [p for p in processes if not p.done and not p.server]
    seen: set[str] = set()
    while todo:
        process = todo.pop(0)
        if process.name in seen or process.blocked is None:
            continue
        seen.add(process.name)
        owners = ", ".join(process.blocked.owners) or "nobody"
        lines.append(f"{process.name} waits for {process.blocked.what} from {owners}")
        todo += [by_name[o] for o in process.blocked.owners if o in by_name]
    return lines
