"""Processes that compile beside this one.

Each is started by its own command line, not forked and not by `multiprocessing`: neither the caller's
main module nor its CUDA context is in it, so that a script may tune at its top level. A worker that
dies (a compiler that crashes, a machine without memory) is replaced, and its one task is tried again or
fails. They have a session of their own: Ctrl-C is for the process that waits for them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from dslc.executors.backlog import Backlog, Kind
from dslc.executors.worker import receive, send

P = ParamSpec("P")
T = TypeVar("T")
_ANY = Kind()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A task that no process has yet."""

    function: Callable[..., Any]
    arguments: tuple[object, ...]
    future: Future[Any]


class _Own(threading.local):
    """A thread's process, and the setups of tasks that it has done."""

    process: subprocess.Popen[bytes] | None = None
    known: frozenset[Hashable] = frozenset()


class WorkerDiedError(RuntimeError):
    """The process of a task ended before its answer."""


class Processes:
    """`count` processes for functions of importable modules; with 0 they run here, when submitted.

    A task whose process dies is given to as many others as `retries`.
    """

    remote = False

    def __init__(self, count: int, retries: int = 0) -> None:
        self.count = count
        self._retries = retries
        self._threads: list[threading.Thread] = []
        self._own = _Own()
        self._backlog: Backlog[_Waiting] = Backlog()
        self._started: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._closed = False

    def start(self, begin: Callable[[], None], most: int) -> None:
        """Start processes before there are tasks, as many as there may be, `most` at the most.

        Each calls `begin` at once, to import what tasks will need.
        """
        self._grow(most, begin)

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The result to come; what the function raises, or WorkerDiedError, is the future's."""
        assert not kwargs, "tasks take positional arguments"
        return self.submit_of(_ANY, function, *args)

    def submit_of(self, kind: Kind, function: Callable[..., T], *args: object) -> Future[T]:
        """The same of a task of a kind: a process takes next what the backlog thinks best for it."""
        if self._closed:
            raise RuntimeError("the workers are closed")
        future: Future[T] = Future()
        waiting = _Waiting(function, args, future)
        if self.count:
            self._grow(self._backlog.put(kind, waiting))
        else:
            _settle(waiting, function)
        return future

    def close(self) -> None:
        """End all processes, whatever they do."""
        with self._lock:
            self._closed = True
            started = list(self._started)
        for process in started:
            process.kill()
        for waiting in self._backlog.close():
            waiting.future.cancel()
        for process in started:
            process.wait()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _grow(self, most: int, begin: Callable[[], None] | None = None) -> None:
        """Threads for `most` tasks, each of which has a process."""
        with self._lock:
            while not self._closed and len(self._threads) < min(self.count, most):
                thread = threading.Thread(target=self._work, args=(begin,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _work(self, begin: Callable[[], None] | None) -> None:
        """Task after task, whichever suits this thread's process."""
        if begin is not None:
            with suppress(Exception):  # whatever it is, tasks will say so
                self._ask_once(begin, ())
        while (taken := self._backlog.take(self._own.known)) is not None:
            kind, waiting = taken
            seconds = None
            if waiting.future.set_running_or_notify_cancel():
                before = time.perf_counter()
                _settle(waiting, lambda *args, f=waiting.function: self._ask(f, args))
                seconds = time.perf_counter() - before
                self._own.known |= {kind.setup}
            self._backlog.ended(kind, seconds)
        if self._own.process is not None:
            self._own.process.wait()  # it was killed by whoever closed the backlog
            self._forget(self._own.process)

    def _ask(self, function: Callable[..., Any], args: tuple[object, ...]) -> Any:
        for _ in range(self._retries):
            try:
                return self._ask_once(function, args)
            except WorkerDiedError:
                if self._closed:
                    raise
        return self._ask_once(function, args)

    def _ask_once(self, function: Callable[..., Any], args: tuple[object, ...]) -> Any:
        process = self._own.process
        if process is None or process.poll() is not None:
            process = self._own.process = self._start()
            self._own.known = frozenset()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, (function, args))
            done, answer = receive(process.stdout)
        except (EOFError, BrokenPipeError, ConnectionError) as gone:
            process.kill()
            code = process.wait()
            self._forget(process)
            raise WorkerDiedError(f"the compiling process ended with code {code}") from gone
        if not done:
            raise answer
        return answer

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        """Close the pipes of a process that has ended."""
        with self._lock, suppress(ValueError):
            self._started.remove(process)
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not sent is lost with it
                assert pipe is not None
                pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        with self._lock:
            if self._closed:
                raise WorkerDiedError("the workers are closed")
            process = subprocess.Popen(
                [sys.executable, "-c", "from dslc.executors.worker import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            )
            self._started.append(process)
            return process


def _settle(waiting: _Waiting, call: Callable[..., Any]) -> None:
    try:
        waiting.future.set_result(call(*waiting.arguments))
    except Exception as failure:
        waiting.future.set_exception(failure)


def default_count() -> int:
    """One for each processor that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
