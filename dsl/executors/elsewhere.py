"""Tasks on an executor of `concurrent.futures`, whose workers may be other machines.

What a task raises comes back as a value, so that it arrives as it was whatever carries it; a failure of
the executor's own (a worker that died again and again, a cluster that has gone) is DSL0955. A worker
that runs another dslc refuses (DSL0956): its code would not be what this process asked for.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.fingerprint import compiler_fingerprint
from dslc.executors.backlog import Kind
from dslc.executors.worker import can_travel

P = ParamSpec("P")
T = TypeVar("T")


class Elsewhere:
    """`count` workers of an executor; `name` is how messages call it."""

    def __init__(self, executor: Executor, count: int, name: str, *, remote: bool) -> None:
        self.count, self.remote = count, remote
        self._executor, self._name = executor, name
        self._pending: set[Future[Any]] = set()

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The result to come; DSL0955 for the future where the executor failed, not the function."""
        assert not kwargs, "tasks take positional arguments"
        future: Future[T] = Future()
        try:
            given = self._executor.submit(answer, compiler_fingerprint(), function, args)
        except RuntimeError as failure:  # it is broken, or was shut down
            future.set_exception(self._lost(failure))
            return future
        self._pending.add(given)

        def arrived(given: Future[tuple[bool, Any]]) -> None:
            self._pending.discard(given)
            with suppress(InvalidStateError):  # nobody waits for it any more
                self._settle(future, given)

        def given_up(future: Future[T]) -> None:
            if future.cancelled():
                given.cancel()

        given.add_done_callback(arrived)
        future.add_done_callback(given_up)
        return future

    def start(self, begin: Callable[[], None], most: int) -> None:
        """Nothing: the executor's workers run as it likes."""

    def submit_of(self, kind: Kind, function: Callable[..., T], *args: object) -> Future[T]:
        """As `submit`: who takes which task is the executor's to choose."""
        return self.submit(function, *args)

    def cancel(self) -> None:
        """Give up what has not begun."""
        for given in [*self._pending]:
            given.cancel()

    def _settle(self, future: Future[T], given: Future[tuple[bool, Any]]) -> None:
        try:
            done, value = given.result()
        except (Exception, CancelledError) as failure:
            future.set_exception(self._lost(failure))
            return
        if done:
            future.set_result(value)
        else:
            future.set_exception(value)

    def _lost(self, failure: BaseException) -> DiagnosticError:
        said = str(failure).strip().splitlines()
        what = f"{type(failure).__name__}: {said[0]}" if said else type(failure).__name__
        return error(
            "DSL0955",
            f"{self._name} did not do a task: {what}",
            hint="look at the logs of its workers: they need memory, and this very dslc installed",
        )


def answer(
    compiler: str, function: Callable[..., Any], args: tuple[object, ...]
) -> tuple[bool, Any]:
    """On the worker: whether the function gave a value, and that or what it raised."""
    if compiler_fingerprint() != compiler:
        text = f"the worker on {socket.gethostname()} has another dslc than the one that asks"
        return False, error("DSL0956", text, hint="install the same version on all machines")
    try:
        return True, function(*args)
    except Exception as failure:
        return False, failure if can_travel(failure) else RuntimeError(repr(failure))
