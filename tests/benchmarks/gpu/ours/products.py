"""Our products: gemm_quantized.tile, gemv_quantized.tile and gemm.tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from dslc.compilation.specialization import Specialization
from gpu import problems
from gpu.cases import Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from gpu.ours import sliced
from gpu.ours.kernels import FILES, Job, best, build_all, jobs_for
from gpu.ours.storage import packed, random_storage

FEW_ROWS = 16


def jobs_of(case: Case) -> list[Job]:
    m, n, k = (case.dims[d] for d in "MNK")
    sizes = {"M": m, "N": n, "K": k}
    if case.section == "dense":
        if case.dtype.startswith("f8"):
            return jobs_for(FILES["gemm_turned"], "gemm_turned", {"T": case.dtype}, sizes, m)
        return jobs_for("gemm", "gemm", {"T": case.dtype}, sizes, m)
    define = {"W": case.name, "T": case.dtype}
    # Two ways to write the product: scaled weights, or scaled sums where there are few rows.
    kernels = ("gemm_quantized", "gemm_quantized_sums") if m <= FEW_ROWS else ("gemm_quantized",)
    jobs = [j for k in kernels for j in jobs_for("gemm_quantized", k, define, sizes, m)]
    return [*jobs, *sliced.jobs_of(case)]


def compile_all(cases: Sequence[Case]) -> None:
    helpers = sliced.helpers_of(case for case in cases if case.section != "dense")
    build_all([*helpers, *(what for case in cases for what in jobs_of(case))])


def prepare_quantized(case: Case) -> Prepared:
    m, n, k = (case.dims[d] for d in "MNK")
    made = problems.weights(case.name, k, n, case.dtype)
    a = problems.activations(case)
    c = torch.full((m, n), torch.nan, dtype=a.dtype, device="cuda")
    bits = int(case.name[1])
    copies = copies_beyond_cache(k * n * bits // 8 + made.scales.nbytes)
    scales = [made.scales.clone() for _ in range(copies)]

    def launcher(kernel: Specialization) -> Callable[[int], object]:
        first = random_storage(kernel, (k, n), case.name)
        stored = [first, *(first.clone() for _ in range(copies - 1))]
        return lambda i: sliced.launch(kernel, a, (stored[i], scales[i], c))

    kernel = best(jobs_of(case), launcher, copies)
    first = packed(kernel, "w", made.codes, case.name)
    stored = [first, *(first.clone() for _ in range(copies - 1))]

    def launch(i: int) -> None:
        sliced.launch(kernel, a, (stored[i], scales[i], c))

    def error() -> float:
        launch(0)
        return relative_error(c, problems.product(a, made, problems.values_of(case.name)))

    return Prepared(launch, copies, error, {"kernel": kernel.name, **kernel.config})


def quantized(case: Case) -> dict[str, Any]:
    return timed(prepare_quantized(case))


def dense(case: Case) -> dict[str, Any]:
    m, n, k = (case.dims[d] for d in "MNK")
    a = problems.activations(case)
    turned = case.dtype.startswith("f8")
    b = torch.randn((n, k) if turned else (k, n), device="cuda").to(a.dtype)
    c = torch.full((m, n), torch.nan, dtype=torch.float16 if turned else a.dtype, device="cuda")
    copies = copies_beyond_cache(b.nbytes)
    every = [b, *(b.clone() for _ in range(copies - 1))]

    def launcher(kernel: Specialization) -> Callable[[int], object]:
        return lambda i: kernel(a, every[i], c)

    kernel = best(jobs_of(case), launcher, copies)
    launch = launcher(kernel)

    def error() -> float:
        launch(0)
        return relative_error(c, a.float() @ (b.float().T if turned else b.float()))

    return timed(Prepared(launch, copies, error, dict(kernel.config)))
