"""Times of many choices of a kernel: what the cost model's rates follow from, and are held against.

    python tests/benchmarks/gpu/sweep.py plan.json --json measured.json [--seconds 60]

A plan is a list of cases: `file` and `kernel` of examples/, `define`, `sizes`, the `choices` to time.
Measured is the same with `us` beside each choice, null where it does not compile or run. The method is
the tuner's (`dslc.tuner.gpu`), with few replays. Kernels are compiled on all cores while the first are
measured; what `--seconds` leave no time for is left out. `plan.py` makes plans.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from dslc.compilation.specialization import Specialization
from dslc.compiler.artifact import Param
from dslc.compiler.diagnostics import DiagnosticError
from dslc.tuner.bench import Effort
from dslc.tuner.gpu import CudaBench
from dslc.tuner.inputs import Inputs

if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from gpu.ours.kernels import Job, build, job

TARGET = "cuda:sm_90a"
SHORT, LONG = Effort(1, 7), Effort(1, 3)
LARGE = 1e12  # multiply-adds of a launch that is long
PATTERN = np.random.default_rng(1).integers(0, 256, 1 << 22, dtype=np.uint8)

Case = Mapping[str, Any]


class RandomBytes(Inputs):
    """Packed weights are random bytes: how fast a kernel is does not depend on the packing's order."""

    def array(self, stored: Param) -> Any:
        if stored.packed is None:
            return super().array(stored)
        return np.resize(PATTERN, self.extent(stored).span)


def jobs_of(case: Case) -> list[Job]:
    """One for each choice."""
    file, kernel, define, sizes = (case[n] for n in ("file", "kernel", "define", "sizes"))
    return [job(file, kernel, define, sizes, choice) for choice in case["choices"]]


def _compile(what: Job) -> str:
    """Into the cache of compiled kernels; what is wrong, in a line."""
    try:
        build(what, TARGET)
    except Exception as problem:
        return str(problem).splitlines()[0]
    return ""


def measured(case: Case, compiled: Sequence[Future[str]]) -> Iterator[float | None]:
    """Microseconds of each choice in turn."""
    with contextlib.ExitStack() as stack:
        bench: CudaBench | None = None
        for what, future in zip(jobs_of(case), compiled, strict=True):
            if problem := future.result():
                print(f"{what[1]} {what[4]}: {problem}", file=sys.stderr)
                yield None
                continue
            made = build(what, TARGET)
            if bench is None:
                inputs = RandomBytes(made.parameters, case["sizes"])
                bench = stack.enter_context(contextlib.closing(CudaBench(inputs)))
            yield timed(bench, made, case)


def timed(bench: CudaBench, made: Specialization, case: Case) -> float | None:
    """Microseconds of a launch; None where the machine refuses it."""
    operations = np.prod([float(n) for n in case["sizes"].values()])
    try:
        with contextlib.closing(bench.load(made.artifact)) as loaded:
            return round(loaded.time(LONG if operations > LARGE else SHORT) * 1e6, 2)
    except DiagnosticError as problem:
        print(f"{made.name} {made.config}: {problem}", file=sys.stderr)
        if not bench.works():
            raise
        return None


def sweep(plan: Sequence[Case], until: float) -> Iterator[Case]:
    """All cases of a plan with their times, as far as the time goes."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        futures = [[pool.submit(_compile, what) for what in jobs_of(case)] for case in plan]
        for case, compiled in zip(plan, futures, strict=True):
            if time.monotonic() > until:
                break
            yield {**case, "us": list(measured(case, compiled))}
        pool.shutdown(cancel_futures=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", type=Path, help="the cases to measure, JSON")
    parser.add_argument("--json", type=Path, required=True, help="where the times go")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after these")
    options = parser.parse_args()
    plan = json.loads(options.plan.read_text(encoding="utf-8"))
    found: list[str] = []
    for case in sweep(plan, time.monotonic() + options.seconds):
        found.append(json.dumps(case))
        options.json.write_text("[\n" + ",\n".join(found) + "\n]\n", encoding="utf-8")
        best = min((t for t in case["us"] if t), default=None)
        print(f"{case['kernel']} {case['define']} {case['sizes']}: {best} us", file=sys.stderr)
    print(f"{len(found)} of {len(plan)} cases")


if __name__ == "__main__":
    main()
