"""What a pass gains: times of kernels that were compiled without it, over those with all passes.

    python tests/benchmarks/gpu/plan.py plan.json --weights u4 --dense f16 --rowwise --attention --first
    python tests/benchmarks/gpu/without_passes.py plan.json --json found.json [--passes k-slices,...]

A plan is one of `sweep.py`; of each case the first choice is measured. Where the text is the same
without a pass nothing is measured. Kernels with and without it alternate on the GPU, and the median of
the rounds counts. Passes that a kernel cannot do without (layouts, low-bit, memory plan) are not asked.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import dslc
from dslc.compiler.artifact import Artifact
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import Pass
from dslc.machines.cuda import CudaMachine
from dslc.tuner.bench import Effort
from dslc.tuner.gpu import CudaBench

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from gpu.ours.kernels import EXAMPLES
from gpu.sweep import TARGET, Case, RandomBytes

ASKED = (
    "fuse-accumulation", "split-accumulators", "cluster-reduction", "loop-invariant-loads",
    "k-slices", "uniform-masks", "ping-pong", "tma-stores", "rasterize", "longest-first",
    "named-divisions", "dependent-launch",
)  # fmt: skip
ROUNDS, EFFORT = 3, Effort(1, 5)


def library(case: Case) -> dslc.Library:
    """A case's module, compiled anew."""
    path = EXAMPLES / f"{case['file']}.tile"
    return dslc.compile(path, target=TARGET, define=dict(case["define"]), cache=False)


def compiled(case: Case, left_out: str) -> Artifact | str:
    """The kernel of a case's first choice without a pass; what is wrong, in a line."""

    def passes(machine: CudaMachine, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        return tuple(p for p in gpu_passes(machine.target, **schedule) if p.name != left_out)

    CudaMachine.passes = passes  # type: ignore[method-assign]
    try:
        kernel = library(case)[case["kernel"]]
        return kernel.specialize_for(dict(case["sizes"]), case["choices"][0]).artifact
    except Exception as problem:
        return str(problem).splitlines()[0]


def measured(case: Case, made: Mapping[str, Artifact | str]) -> dict[str, Any]:
    """By pass, where it changes the text: microseconds with and without it, or what is wrong."""
    whole = made[""]
    if isinstance(whole, str):
        return {"": whole}
    text = whole.file("kernel.cu")
    found: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        parameters = library(case)[case["kernel"]].origin.signature.parameters
        inputs = RandomBytes(parameters, case["sizes"])
        bench = stack.enter_context(contextlib.closing(CudaBench(inputs)))
        for left_out, other in made.items():
            if isinstance(other, str):
                found[left_out] = other
            elif left_out and other.file("kernel.cu") != text:
                times: dict[bool, list[float]] = {True: [], False: []}
                for _ in range(ROUNDS):
                    for is_whole in (True, False):
                        with contextlib.closing(bench.load(whole if is_whole else other)) as loaded:
                            times[is_whole].append(loaded.time(EFFORT) * 1e6)
                found[left_out] = [round(median(times[is_whole]), 2) for is_whole in (True, False)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", type=Path, help="the cases to measure, JSON")
    parser.add_argument("--json", type=Path, required=True, help="where the times go")
    parser.add_argument("--passes", default=",".join(ASKED))
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after these")
    options = parser.parse_args()
    plan = json.loads(options.plan.read_text(encoding="utf-8"))
    names, until = ["", *options.passes.split(",")], time.monotonic() + options.seconds
    rows = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        jobs = [{n: pool.submit(compiled, case, n) for n in names} for case in plan]
        for case, futures in zip(plan, jobs, strict=True):
            if time.monotonic() > until:
                break
            found = measured(case, {n: f.result() for n, f in futures.items()})
            rows.append({**case, "found": found})
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
            for name, times in found.items():
                gain = times if isinstance(times, str) else f"{times[1] / times[0] - 1:+.1%}"
                label = f"{case['kernel']} {case['define']} {case['sizes']}"
                print(f"{name:22} {label}: {gain} {times}", flush=True)
        pool.shutdown(cancel_futures=True)
    print(f"{len(rows)} of {len(plan)} cases")


if __name__ == "__main__":
    main()
