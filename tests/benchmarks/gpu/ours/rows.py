"""Our kernels of rows and elements, and attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from dslc.compilation.specialization import Specialization
from gpu import attention_problem
from gpu.cases import Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from gpu.ours.kernels import FILES, Job, best, build_all, jobs_for
from gpu.row_kernels import HEAD, operands, reference

FULL = str(Path(__file__).with_name("attention_full"))


def jobs_of(case: Case) -> list[Job]:
    define = {"T": case.dtype}
    if case.section == "attention":
        s, h, d = (case.dims[name] for name in "SHD")
        sizes = {"B": 1, "S": s, "L": s, "D": d, "H": h, "HQ": h, "HK": h}
        file = "attention" if case.name == "causal" else FULL
        return jobs_for(file, "attention", define, sizes, s)
    m, n = case.dims["M"], case.dims["N"]
    sizes = {"M": m, "S": m, "N": n, "H": n, "F": n, "Q": n, "D": HEAD}
    return jobs_for(FILES.get(case.name, case.name), case.name, define, sizes, m)


def compile_all(cases: Sequence[Case]) -> None:
    build_all([what for case in cases if case.name != "copy" for what in jobs_of(case)])


def rows(case: Case) -> dict[str, Any] | None:
    if case.name == "copy":
        return None
    made = operands(case)
    copies = copies_beyond_cache(made.size)
    every = [made.inputs, *([t.clone() for t in made.inputs] for _ in range(copies - 1))]
    in_place = case.name == "rope"
    outputs = [torch.full_like(made.inputs[0], torch.nan) for _ in range(0 if in_place else copies)]

    def launcher(kernel: Specialization) -> Callable[[int], object]:
        if in_place:
            return lambda i: kernel(*every[i])
        return lambda i: kernel(*every[i], outputs[i])

    expected = reference(case, made.inputs)
    kernel = best(jobs_of(case), launcher, copies)
    launch = launcher(kernel)

    def error() -> float:
        if in_place:  # what was tried has turned the operands
            every[0][0].copy_(operands(case).inputs[0])
        launch(0)
        return relative_error(every[0][0] if in_place else outputs[0], expected)

    return {
        **timed(Prepared(launch, copies, error, dict(kernel.config))),
        "bytes": made.size,
    }


def attention(case: Case) -> dict[str, Any]:
    causal = case.name == "causal"
    q, k, v = attention_problem.operands(case)
    copies = copies_beyond_cache(4 * q.nbytes)
    every = [[t.clone() for t in (q, k, v)] for _ in range(copies)]
    past = torch.zeros(1, dtype=torch.int32, device="cuda")
    scale = case.dims["D"] ** -0.5
    o = torch.full_like(q, torch.nan)

    def launcher(kernel: Specialization) -> Callable[[int], object]:
        if causal:
            return lambda i: kernel(*every[i], past, scale, o)
        return lambda i: kernel(*every[i], scale, o)

    kernel = best(jobs_of(case), launcher, copies)
    launch = launcher(kernel)

    def error() -> float:
        launch(0)
        return relative_error(o, attention_problem.reference(q, k, v, causal))

    return timed(Prepared(launch, copies, error, dict(kernel.config)))
