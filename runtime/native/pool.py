"""Threads that share the turns of a kernel: each takes ranges from a counter until none is left.

The ranges are large first, so that a core that is slow costs no more than its last one. The caller's
thread takes its share; for one thread no other is woken. Threads wait without spinning. calls.c does
the same where it was built, without Python between the ranges.

Kernels are called through ctypes, which gives up Python's lock for the call, so that ranges run side by
side.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TypeAlias

from dslc.compiler.diagnostics import error

_Task: TypeAlias = "tuple[Callable[[], None], SimpleQueue[BaseException | None]]"

VARIABLE = "DSLC_THREADS"
_PARTS = 2  # a range is what is left for a thread, divided by this


def thread_count() -> int:
    """How many threads run kernels: `DSLC_THREADS`, else the CPUs that this process may use.

    DSL0916 where the variable is no positive number.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        usable = getattr(os, "sched_getaffinity", None)
        return len(usable(0)) if usable else os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise error("DSL0916", f"{VARIABLE} is the number of threads, not {text!r}")
    return int(text)


class Turns:
    """The turns of one call: ranges of them, and what the first that failed gave."""

    def __init__(self, turns: int, threads: int) -> None:
        self._turns, self._threads = turns, threads
        self._next, self._lock = 0, threading.Lock()
        self._failures: list[tuple[int, int]] = []

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges (begin, end) that nobody else takes."""
        while True:
            with self._lock:
                begin, left = self._next, self._turns - self._next
                if left <= 0:
                    return
                whole = self._threads == 1
                size = left if whole else max(1, left // (_PARTS * self._threads))
                self._next += size
            yield begin, begin + size

    def fail(self, begin: int, result: int) -> None:
        """A range that failed: those after it are not begun, those before it are taken already."""
        with self._lock:
            self._failures.append((begin, result))
            self._next = self._turns

    @property
    def result(self) -> int:
        """0, or the result of the first range that failed."""
        return min(self._failures, default=(0, 0))[1]


class Pool:
    """At most `threads` threads, the caller's among them; the others start when first needed."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._begin()
        _POOLS.add(self)

    def _begin(self) -> None:
        """Without a thread: they start when they are needed."""
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        self._started = 0
        self._starting = threading.Lock()

    def run(self, work: Callable[[int, int], int], turns: int, threads: int) -> int:
        """work(begin, end) of ranges that cover the turns: the result of the first that is not 0.

        An exception of `work` ends the call once no thread is at work for it.
        """
        shared = Turns(turns, min(threads, self.threads, max(1, turns)))

        def serve() -> None:
            for begin, end in shared.ranges():
                if result := work(begin, end):
                    shared.fail(begin, result)

        self._side_by_side(serve, min(threads, self.threads, turns))
        return shared.result

    def _side_by_side(self, task: Callable[[], None], many: int) -> None:
        done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._start(many - 1)
        for _ in range(many - 1):
            self._tasks.put((task, done))
        failures: list[BaseException | None] = []
        try:
            task()
        finally:  # the others use the caller's arrays: it does not go on before they have ended
            failures += [done.get() for _ in range(many - 1)]
        for failure in failures:
            if failure is not None:
                raise failure

    def _start(self, wanted: int) -> None:
        with self._starting:
            while self._started < min(wanted, self.threads - 1):
                threading.Thread(target=self._serve, name="dslc-turns", daemon=True).start()
                self._started += 1

    def _serve(self) -> None:
        while True:
            task, done = self._tasks.get()
            try:
                task()
            except BaseException as failure:
                done.put(failure)
            else:
                done.put(None)


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


def _after_fork() -> None:
    """The threads of a process are not in its forks, whose own ones start when they are needed."""
    for pool in _POOLS:
        pool._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
