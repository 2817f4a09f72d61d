"""Whether GPUs are emulated on the host, as a command or a variable of the environment asks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[bool] = ContextVar("emulated", default=False)


@contextmanager
def emulating() -> Iterator[None]:
    """Kernels that are loaded in this context run in the emulator of their machine."""
    token = _asked.set(True)
    try:
        yield
    finally:
        _asked.reset(token)


def is_emulated(variable: str) -> bool:
    """Whether it is asked for here, or by a variable such as DSLC_CUDA: `emulator`."""
    return _asked.get() or os.environ.get(variable, "") == "emulator"
