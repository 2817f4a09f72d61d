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
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from dslc.executors.worker import receive, send

P = ParamSpec("P")
T = TypeVar("T")


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
        self._threads = ThreadPoolExecutor(count, "dslc-worker") if count else None
        self._own = threading.local()
        self._started: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The result to come; what the function raises, or WorkerDiedError, is the future's."""
        assert not kwargs, "tasks take positional arguments"
        if self._threads is not None:
            return self._threads.submit(self._ask, function, args)
        future: Future[T] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as failure:
            future.set_exception(failure)
        return future

    def close(self) -> None:
        """End all processes, whatever they do."""
        with self._lock:
            self._closed = True
            started = list(self._started)
        for process in started:
            process.kill()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        for process in started:
            process.wait()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, function: Callable[..., Any], args: tuple[object, ...]) -> Any:
        for _ in range(self._retries):
            try:
                return self._ask_once(function, args)
            except WorkerDiedError:
                if self._closed:
                    raise
        return self._ask_once(function, args)

    def _ask_once(self, function: Callable[..., Any], args: tuple[object, ...]) -> Any:
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None or process.poll() is not None:
            process = self._own.process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, (function, args))
            done, answer = receive(process.stdout)
        except (EOFError, BrokenPipeError, ConnectionError) as gone:
            process.kill()
            code = process.wait()
            raise WorkerDiedError(f"the compiling process ended with code {code}") from gone
        if not done:
            raise answer
        return answer

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


def default_count() -> int:
    """One for each processor that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
