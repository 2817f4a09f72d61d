"""Our products of every weight type at ragged sizes: the error alone, of the first choice that fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gpu import problems
from gpu.cases import Case
from gpu.measure import relative_error
from gpu.ours.kernels import Job, build_all, first, jobs_for
from gpu.ours.storage import packed


def jobs_of(case: Case) -> list[Job]:
    sizes = {d: case.dims[d] for d in "MNK"}
    define: dict[str, Any] = {"W": case.name, "T": case.dtype}
    kernel = "gemm_quantized"
    if "G" in case.dims:
        kernel, define = "gemm_quantized_zeros", {**define, "G": case.dims["G"]}
    return jobs_for("gemm_quantized", kernel, define, sizes, case.dims["M"])


def compile_all(cases: Sequence[Case]) -> None:
    build_all([what for case in cases for what in jobs_of(case)])


def grid(case: Case) -> dict[str, Any]:
    return with_zeros(case) if "G" in case.dims else symmetric(case)


def symmetric(case: Case) -> dict[str, Any]:
    m, n, k = (case.dims[d] for d in "MNK")
    made = problems.weights(case.name, k, n, case.dtype)
    kernel = first(jobs_of(case))
    a = problems.activations(case)
    c = torch.full((m, n), torch.nan, dtype=a.dtype, device="cuda")
    kernel(a, packed(kernel, "w", made.codes, case.name), made.scales, c)
    expected = problems.product(a, made, problems.values_of(case.name))
    return {"error": relative_error(c, expected), "config": dict(kernel.config)}


def with_zeros(case: Case) -> dict[str, Any]:
    """c = a @ ((w - z) * s); a float's zero points are 0, as differences may be no numbers of T."""
    m, n, k, group = (case.dims[d] for d in "MNKG")
    w = problems.weights(case.name, k, n, case.dtype).codes
    z = problems.weights(case.name, k // group, n, case.dtype).codes
    if case.name[0] == "f":
        z = torch.zeros_like(z)
    values = torch.from_numpy(np.nan_to_num(problems.values_of(case.name))).cuda()
    a = problems.activations(case)
    s = (torch.rand(z.shape, device="cuda") * 0.01 + 0.005).to(a.dtype)
    shifted = values[w.int()] - values[z.int()].repeat_interleave(group, 0)
    expected = a.double() @ (shifted * s.double().repeat_interleave(group, 0))
    kernel = first(jobs_of(case))
    c = torch.full((m, n), torch.nan, dtype=a.dtype, device="cuda")
    stored = [packed(kernel, name, codes, case.name) for name, codes in (("w", w), ("z", z))]
    kernel(a, stored[0], s, stored[1], c)
    return {"error": relative_error(c, expected), "config": dict(kernel.config)}
