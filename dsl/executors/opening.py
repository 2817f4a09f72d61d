"""From what a user names to workers that take tasks."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

from dslc.compiler.diagnostics import error
from dslc.executors.backlog import Kind
from dslc.executors.elsewhere import Elsewhere
from dslc.executors.processes import Processes, default_count

P = ParamSpec("P")
T = TypeVar("T")

ExecutorChoice: TypeAlias = "str | Executor | None"
"""`processes` (also None), `threads`, `dask:ADDRESS`, `ray:ADDRESS`, or an executor that is open."""

_CLUSTERS = ("dask", "ray")


class Workers(Protocol):
    """What takes tasks. `count` run at once; `remote` ones have other disks and environments."""

    count: int
    remote: bool

    def start(self, begin: Callable[[], None], most: int) -> None:
        """Have up to `most` processes of this machine call `begin` before there are tasks."""

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The result to come; a failure of the function is the future's."""

    def submit_of(self, kind: Kind, function: Callable[..., T], *args: object) -> Future[T]:
        """The same of a task of a kind, for which a process that knows it is the best."""


@contextmanager
def open_workers(
    choice: ExecutorChoice = None, jobs: int | None = None, *, retries: int = 0
) -> Iterator[Workers]:
    """Workers until the end of the block; then what still runs is given up.

    `jobs` is how many processes or threads there are (None: one a processor, 0: tasks run here); a
    cluster has as many workers as it has. A task whose process dies is tried again `retries` times; a
    cluster does so itself. An executor that is given stays open. DSL0951 where the package of a cluster
    is missing, DSL0955 where no cluster answers.
    """
    count = default_count() if jobs is None else jobs
    if choice is None or choice == "processes":
        with Processes(count, retries) as processes:
            yield processes
    elif choice == "threads":
        with ThreadPoolExecutor(max(1, count), "dslc-worker") as threads:
            yield from _with(threads, count, "threads", remote=False)
    elif isinstance(choice, str):
        kind, _, address = choice.partition(":")
        if kind not in _CLUSTERS or not address:
            raise error(
                "DSL0955",
                f"there is no executor {choice!r}",
                hint="processes, threads, dask:ADDRESS (of a scheduler), or ray:ADDRESS",
            )
        opened = importlib.import_module(f"dslc.executors.{kind}_cluster").connect
        with opened(address) as (executor, slots):
            yield from _with(executor, slots, choice, remote=True)
    else:
        here = isinstance(choice, ThreadPoolExecutor | ProcessPoolExecutor)
        yield from _with(choice, count, type(choice).__name__, remote=not here)


def _with(executor: Executor, count: int, name: str, *, remote: bool) -> Iterator[Workers]:
    workers = Elsewhere(executor, count, name, remote=remote)
    try:
        yield workers
    finally:
        workers.cancel()


def imported(module: str, extra: str) -> Any:
    """A cluster's package; DSL0951 where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise error(
            "DSL0951",
            f"--executor {extra}:ADDRESS needs the package {module}, which is not installed",
            hint=f"pip install 'dslc[{extra}]'",
        ) from None
