"""Which of the waiting tasks a process takes next, so that all processes end together.

A process that has compiled for a target has its generator imported and its tables made, so it keeps to
what it knows while there is any. Of that it takes what takes longest first, since short tasks fill the
gaps at the end (Graham, Bounds on Multiprocessing Timing Anomalies, 1969: longest processing time). How
long a group's tasks take is not known before: one of each group is tried early.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Container, Hashable
from dataclasses import dataclass
from statistics import fmean
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind:
    """`setup` is what a process loads for such tasks once; those of one `group` take about as long."""

    setup: Hashable = None
    group: Hashable = None


class Backlog(Generic[T]):
    """Tasks by their kinds, those of one kind in order; any thread may put and take."""

    def __init__(self) -> None:
        self._waiting: dict[Kind, deque[T]] = {}
        self._seconds: dict[Kind, float] = {}
        self._running: Counter[Kind] = Counter()
        self._closed = False
        self._changed = threading.Condition()

    def put(self, kind: Kind, task: T) -> int:
        """Add a task, and give how many wait or run now."""
        with self._changed:
            self._waiting.setdefault(kind, deque()).append(task)
            self._changed.notify()
            return self._running.total() + sum(map(len, self._waiting.values()))

    def take(self, known: Container[Hashable]) -> tuple[Kind, T] | None:
        """Wait for a task for a process that has loaded the setups `known`; None when it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return None
            kind = self._best(known)
            tasks = self._waiting[kind]
            task = tasks.popleft()
            if not tasks:
                del self._waiting[kind]
            self._running[kind] += 1
            return kind, task

    def ended(self, kind: Kind, seconds: float | None) -> None:
        """A task that was taken took so long; None: it was given up."""
        with self._changed:
            self._running[kind] -= 1
            if seconds is not None:
                self._seconds[kind] = seconds

    def close(self) -> list[T]:
        """Whoever waits for a task gets none any more; what waited."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            waiting = [task for tasks in self._waiting.values() for task in tasks]
            self._waiting.clear()
            return waiting

    def _best(self, known: Container[Hashable]) -> Kind:
        untried = [k for k in self._waiting if k not in self._seconds and not self._running[k]]
        if untried:
            return max(untried, key=lambda k: k.setup in known)  # of equals the first
        guess = fmean(self._seconds.values()) if self._seconds else 1.0
        seconds = {k: self._seconds.get(k, guess) for k in self._waiting}
        ready = [k for k in self._waiting if k.setup in known]
        if ready:
            return max(ready, key=lambda k: seconds[k])
        # Where most work is left for each process that is at it.
        left = {k: seconds[k] * len(tasks) for k, tasks in self._waiting.items()}
        return max(left, key=lambda k: left[k] / (1 + self._running[k]))
