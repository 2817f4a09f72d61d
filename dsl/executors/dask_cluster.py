"""Workers of a Dask cluster. The scheduler gives a task of a lost worker to another, three times."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from dslc.compiler.diagnostics import error
from dslc.executors.opening import imported

_SECONDS = 20.0  # until the scheduler answers
_PATIENCE = 120.0  # until the first worker is there: a cluster may have to start one


@contextmanager
def connect(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor of the cluster whose scheduler has this address, and how many tasks run at once."""
    distributed = imported("distributed", "dask")
    try:
        client = distributed.Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as failure:
        raise _absent(address, f"no scheduler answers: {failure}") from None
    try:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise _absent(address, f"it has no worker after {_PATIENCE:.0f} s") from None
        # Not pure: two calls that look alike are two tasks.
        yield client.get_executor(pure=False), sum(client.nthreads().values())
    finally:
        client.close()


def _absent(address: str, why: str) -> Exception:
    hint = "start one: dask scheduler, and dask worker ADDRESS on each machine"
    return error("DSL0955", f"the Dask cluster at {address} cannot be used: {why}", hint=hint)
