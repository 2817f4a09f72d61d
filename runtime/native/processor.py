"""What a kernel runs on: the CPU of this machine, or an emulated one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Word: TypeAlias = "int | Array"
"""An argument as a kernel takes it: a word of 64 bits, or an array, whose address it becomes."""


class Code(Protocol):
    """A library that is loaded."""

    def call(
        self,
        symbol: str,
        words: Sequence[Word],
        written: Collection[int],
        turns: int,
        threads: int,
        scratch: int = 0,
        names: Sequence[str] = (),
    ) -> int:
        """Run a kernel's turns on so many threads: the result of the first that is not 0, or 0.

        `written` are the numbers of the arrays among `words` that it writes, `names` how they are
        called; each thread has `scratch` bytes.
        """


class Processor(Protocol):
    """One CPU: `machine` as the operating system calls it, its features, the threads that it runs."""

    name: str
    machine: str
    features: frozenset[str]
    threads: int

    def load(self, library: bytes) -> Code:
        """The library, ready to be called."""
