"""Threads that wait for work: a slice of a kernel's turns each.

Kernels are called through ctypes, which gives up Python's lock for the call, so that slices run side by
side. The caller's thread takes the first slice itself: of one slice, no other thread is woken.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from dslc.compiler.diagnostics import error

T = TypeVar("T")
_Task: TypeAlias = "tuple[Callable[[], None], SimpleQueue[BaseException | None]]"

VARIABLE = "DSLC_THREADS"


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

    def run(self, work: Callable[[int, int], T], slices: Sequence[tuple[int, int]]) -> list[T]:
        """work(begin, end) of every slice, side by side: the results in order, or an exception."""
        results: list[T | None] = [None] * len(slices)
        done: SimpleQueue[BaseException | None] = SimpleQueue()

        def task(number: int) -> Callable[[], None]:
            def run() -> None:
                results[number] = work(*slices[number])

            return run

        self._start(len(slices) - 1)
        for number in range(1, len(slices)):
            self._tasks.put((task(number), done))
        failures: list[BaseException | None] = []
        try:
            if slices:
                task(0)()
        finally:  # the others use the caller's arrays: it does not go on before they have ended
            failures += [done.get() for _ in slices[1:]]
        for failure in failures:
            if failure is not None:
                raise failure
        return [r for r in results if r is not None]

    def _start(self, wanted: int) -> None:
        with self._starting:
            while self._started < min(wanted, self.threads - 1):
                threading.Thread(target=self._serve, name="dslc-aarch64", daemon=True).start()
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
