"""How kernels run: `with dslc.options(shuffle=7): lib.softmax(x, y)`.

The options hold for the launches of the same thread inside the block. `stream` bears on GPUs, the
others on the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Literal, TextIO, TypedDict, Unpack


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a launch.

    `shuffle`: a seed, by which parallel turns run in a random order. `check`: report races,
    uninitialised reads and missing waits. `stdout`: where `print` in a kernel writes. `progress`:
    called with the turns done and the turns in all. `stream`: where GPUs run the kernel: a handle, a
    torch or CuPy stream, or an object with `__cuda_stream__`; None is the arrays' library's current
    one. `trap`: the interpreter stops at a NaN that is stored, or with `inf` at an infinity too, and
    names the operation that made it (DSL0614).
    """

    shuffle: int | None = None
    check: bool = True
    stdout: TextIO | None = None
    progress: Callable[[int, int], None] | None = None
    stream: object = None
    trap: Literal["nan", "inf"] | None = None


class Changes(TypedDict, total=False):
    """The options that a block changes; the others stay."""

    shuffle: int | None
    check: bool
    stdout: TextIO | None
    progress: Callable[[int, int], None] | None
    stream: object
    trap: Literal["nan", "inf"] | None


_DEFAULT = Settings()
CURRENT: ContextVar[Settings] = ContextVar("dslc.options", default=_DEFAULT)


def current_settings() -> Settings:
    """The options that hold here."""
    return CURRENT.get()


@contextmanager
def options(**changes: Unpack[Changes]) -> Iterator[Settings]:
    """Run kernels with other options inside a `with` block; blocks nest.

    TypeError for an option that there is not.
    """
    settings = replace(CURRENT.get(), **changes)
    token = CURRENT.set(settings)
    try:
        yield settings
    finally:
        CURRENT.reset(token)
