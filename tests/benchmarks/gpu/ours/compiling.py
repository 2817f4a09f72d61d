"""How long it takes from the text of a kernel to its cubin, on two cores and without the cache."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import dslc
from gpu.cases import Case
from gpu.ours.kernels import EXAMPLES

FILES = {"w4a8_group": "w4a8"}
TARGET, ROUNDS, CORES = "cuda:sm_90a", 5, 2
SIZES = {
    "M": 4096, "N": 8192, "K": 8192, "B": 1, "S": 4096, "L": 4096, "HQ": 16, "HK": 16, "D": 128,
    "H": 4096, "F": 8192, "P": 64, "Q": 64, "R": 64,
}  # fmt: skip


def once(kernel: str) -> tuple[float, int]:
    """Seconds, and the bytes of the machine code."""
    path: Path = EXAMPLES / f"{FILES.get(kernel, kernel)}.tile"
    start = time.perf_counter()
    made = dslc.compile(path, target=TARGET, cache=False)[kernel].specialize_for(SIZES)
    return time.perf_counter() - start, sum(len(f) for f in made.artifact.files.values())


def compiling(case: Case) -> dict[str, Any]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    first = once(case.name)  # imports, and the compiler's libraries
    times = [once(case.name)[0] for _ in range(ROUNDS)]
    return {"seconds": median(times), "times": times, "first": first[0], "bytes": first[1]}
