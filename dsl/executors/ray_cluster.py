"""Workers of a Ray cluster. Ray gives a task of a lost worker to another, three times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from dslc.compiler.diagnostics import error
from dslc.executors.opening import imported

_RETRIES = 3


@contextmanager
def connect(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor of the cluster at an address, and how many tasks run at once.

    Addresses are those of `ray.init`: `auto` for the cluster that this machine is part of, `HOST:PORT`,
    `ray://HOST:PORT`, or `local` for one of this machine alone.
    """
    ray = imported("ray", "ray")
    started = not ray.is_initialized()
    if started:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error")
        except (OSError, ValueError, RuntimeError) as failure:
            raise error(
                "DSL0955",
                f"the Ray cluster at {address} cannot be used: {failure}",
                hint="start one: ray start --head, and ray start --address=HEAD on each machine",
            ) from None
    try:
        yield RayExecutor(ray), max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if started:
            ray.shutdown()


class RayExecutor(Executor):
    """Functions as tasks of Ray, each on one CPU."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._task = ray.remote(_call).options(num_cpus=1, max_retries=_RETRIES)

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """The result to come; cancelling it cancels the task."""
        reference = self._task.remote(function, args, named)
        future: Future[Any] = reference.future()

        def done(future: Future[Any]) -> None:
            if future.cancelled():
                self._ray.cancel(reference, force=False)

        future.add_done_callback(done)
        return future


def _call(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*args, **named)
