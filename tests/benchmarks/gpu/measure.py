"""Timing by CUDA graphs.

A graph holds launches for at least 400 us, which rotate over copies of the operands whose bytes exceed
four times the L2 cache: each launch reads memory, not the cache. After three warm replays the median of
25 is taken, divided by the launches of a replay.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch

L2_BYTES = 60 * 2**20
LEAST_US = 400.0
WARM, REPLAYS = 3, 25


@dataclass
class Prepared:
    """A kernel ready to run: `launch(i)` enqueues it on copy i of its operands.

    `error` runs it once and compares with the reference; `config` is what was chosen, for the record.
    """

    launch: Callable[[int], object]
    copies: int
    error: Callable[[], float]
    config: dict[str, Any] = field(default_factory=dict)


def copies_beyond_cache(size: int) -> int:
    """How many copies of `size` bytes exceed four times the L2 cache; two at least."""
    return max(2, 4 * L2_BYTES // max(size, 1) + 1)


def _captured(launch: Callable[[int], object], copies: int, launches: int) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            launch(i % copies)
    return graph


def _replayed(graph: torch.cuda.CUDAGraph, launches: int, warm: int, replays: int) -> list[float]:
    """Microseconds a launch, of each replay."""
    for _ in range(warm):
        graph.replay()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(replays):
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / launches)
    return times


def replays(
    launch: Callable[[int], object], copies: int, *, warm: int = WARM, count: int = REPLAYS
) -> list[float]:
    """Microseconds a launch, of each replay of a graph that is long enough."""
    for i in range(min(copies, 2)):
        launch(i)  # what a first call loads and allocates stays out of the graph
    torch.cuda.synchronize()
    graph = _captured(launch, copies, copies)
    once = min(_replayed(graph, copies, 1, 3))
    rounds = math.ceil(LEAST_US / (once * copies))
    if rounds > 1:
        graph = _captured(launch, copies, copies * rounds)
    return _replayed(graph, copies * rounds, warm, count)


def timed(prepared: Prepared) -> dict[str, Any]:
    """The record of a case: time, error, what was chosen."""
    error = prepared.error()
    times = replays(prepared.launch, prepared.copies)
    return {
        "us": median(times),
        "times": [round(t, 3) for t in times],
        "error": error,
        "config": prepared.config,
    }


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """The Frobenius norm of the difference, relative to that of the reference."""
    got, expected = got.double(), expected.double()
    return float((got - expected).norm() / expected.norm())
