"""The host's cost of a launch with eight tensors: ours, Triton's and torch's in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import dslc
import torch
import triton
import triton.language as tl
from gpu.cases import Case

CALLS, BATCHES = 500, 25
EIGHT = Path(__file__).resolve().parents[1] / "ours" / "eight.tile"


def versions() -> dict[str, str]:
    return {"triton": triton.__version__, "torch": torch.__version__}


@triton.jit
def eight(a, b, c, d, e, f, g, y, n, block: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * block + tl.arange(0, block)
    mask = at < n
    total = tl.load(a + at, mask) + tl.load(b + at, mask) + tl.load(c + at, mask)
    total += tl.load(d + at, mask) + tl.load(e + at, mask) + tl.load(f + at, mask)
    tl.store(y + at, total + tl.load(g + at, mask), mask)


def host_us(call: Callable[[], object]) -> float:
    """Microseconds a call without waiting for the GPU: the median of batches, each from an idle GPU."""
    for _ in range(CALLS):
        call()
    times = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
    torch.cuda.synchronize()
    return median(times)


def launch(case: Case) -> dict[str, Any]:
    n = case.dims["N"]
    tensors = [torch.randn(n, device="cuda") for _ in range(8)]
    *inputs, y = tensors
    expected = torch.stack(inputs).sum(0)
    library = dslc.compile(EIGHT, target="cuda")
    kernel, fixed = library.eight, library.eight.specialize_for({"N": n})
    calls: dict[str, Callable[[], object]] = {
        "dslc": lambda: kernel(*tensors),
        "dslc, specialised": lambda: fixed(*tensors),
        "triton": lambda: eight[(triton.cdiv(n, 1024),)](*tensors, n, block=1024),
        "torch.add(out=)": lambda: torch.add(inputs[0], inputs[1], out=y),
    }
    host = {}
    for name, call in calls.items():
        host[name] = host_us(call)
        if not name.startswith("torch"):
            torch.testing.assert_close(y, expected)
        y.fill_(torch.nan)
    return {"host": host}
