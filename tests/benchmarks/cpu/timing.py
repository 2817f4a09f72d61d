"""The time of a call: the best mean of several samples, over copies that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

SAMPLES = 7
_SAMPLE = 0.03  # seconds
LARGER_THAN_CACHES = 160 << 20


def copies_of(place: str, nbytes: float) -> int:
    """How many copies of a call's operands there are: one, or more than the caches hold."""
    return 1 if place == "cache" else max(2, min(40, int(LARGER_THAN_CACHES / nbytes) + 1))


def seconds(calls: Sequence[Callable[[], object]]) -> float:
    """The best mean of samples; each goes round all copies."""
    for call in calls:
        call()
    number, rounds, best = 0, 1, float("inf")
    for sample in range(SAMPLES + 1):
        begin = time.perf_counter()
        for _ in range(rounds):
            calls[number % len(calls)]()
            number += 1
        mean = (time.perf_counter() - begin) / rounds
        if sample:
            best = min(best, mean)
        rounds = max(1, min(5000, int(_SAMPLE / mean)))
    return best
