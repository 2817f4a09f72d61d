"""How the interpreter runs a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from dslc.compiler.interpreter.recording import Recording
from dslc.compiler.interpreter.scope import Trap


@dataclass(frozen=True, slots=True)
class Options:
    """`shuffle` is the seed of a random order of parallel turns; None runs them in row-major order.

    `check` reports races, uninitialised reads, missing waits and barriers. `stdout` takes what kernels
    print (sys.stdout where None). `progress` is called with the turns done and the turns in all. `trap`
    stops where a NaN, or with `inf` an infinity too, is stored. `recording` takes what a turn does.
    """

    shuffle: int | None = None
    check: bool = True
    stdout: TextIO | None = None
    progress: Callable[[int, int], None] | None = None
    trap: Trap | None = None
    recording: Recording | None = None
