"""How long a look at a kernel may take, and who is told of what takes long."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


def _silent(text: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True)
class Patience:
    """A budget in `seconds` that ends at `until`, of time.monotonic(); `tell` takes progress."""

    seconds: float = math.inf
    until: float = math.inf
    tell: Callable[[str], None] = _silent

    @classmethod
    def of(cls, seconds: float, tell: Callable[[str], None] = _silent) -> Patience:
        """A budget that begins now; 0 seconds are no limit."""
        if not seconds:
            return cls(tell=tell)
        return cls(seconds, time.monotonic() + seconds, tell)

    @property
    def more(self) -> str:
        """What to say for four times as much."""
        return f"--budget {self.seconds * 4:g} gives it more"


UNLIMITED = Patience()
