"""Our products: gemm_quantized.tile and gemm.tile."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from dslc.runtime.packing import packed_shape
from dslc.specialization import Specialization
from gpu import problems
from gpu.cases import Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from gpu.ours.kernels import Job, best, build_all, jobs_for


def jobs_of(case: Case) -> list[Job]:
    m, n, k = (case.dims[d] for d in "MNK")
    sizes = {"M": m, "N": n, "K": k}
    if case.section == "dense":
        return jobs_for("gemm", "gemm", {"T": case.dtype}, sizes, m)
    define = {"W": case.name, "T": case.dtype}
    return jobs_for("gemm_quantized", "gemm_quantized", define, sizes, m)


def compile_all(cases: Sequence[Case]) -> None:
    build_all([what for case in cases for what in jobs_of(case)])


@functools.lru_cache(maxsize=2)
def _host_codes(weight: str, k: int, n: int, dtype: str) -> np.ndarray:
    """Codes as a caller gives them: int8 with the sign for signed integers."""
    codes = problems.weights(weight, k, n, dtype).codes
    if weight[0] == "i":
        shift = 8 - int(weight[1:])
        return ((codes << shift).view(torch.int8) >> shift).cpu().numpy()
    return codes.cpu().numpy()


def packed(made: Specialization, case: Case) -> torch.Tensor:
    """The weights in the kernel's storage, packed by strips of K on several threads."""
    codes = _host_codes(case.name, case.dims["K"], case.dims["N"], case.dtype)
    storage = _storage(made)
    if storage is None:  # 8 bits in rows: the codes themselves
        return torch.from_numpy(codes).cuda()
    rows = 1024
    if storage["scheme"] != "tiles" or len(codes) % rows:
        return torch.from_numpy(made.pack("w", codes)).cuda()
    strips = [codes[i : i + rows] for i in range(0, len(codes), rows)]
    with ThreadPoolExecutor() as pool:
        return torch.from_numpy(
            np.concatenate(list(pool.map(lambda s: made.pack("w", s), strips)))
        ).cuda()


def _storage(made: Specialization) -> Mapping[str, Any] | None:
    return next(p.packed for p in made.artifact.signature.params if p.name == "w")


def _random_storage(made: Specialization, case: Case) -> torch.Tensor:
    """Bytes of the shape of packed weights, enough to time a kernel."""
    storage, extents = _storage(made), (case.dims["K"], case.dims["N"])
    if storage is None:
        codes = torch.randint(0, 256, extents, dtype=torch.uint8, device="cuda")
        return codes.view(torch.int8) if case.name == "i8" else codes
    shape = packed_shape(storage, extents)
    return torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")


def prepare_quantized(case: Case, find_best: bool = True) -> Prepared:
    m, n, k = (case.dims[d] for d in "MNK")
    made = problems.weights(case.name, k, n, case.dtype)
    a = problems.activations(case)
    c = torch.full((m, n), torch.nan, dtype=a.dtype, device="cuda")
    bits = int(case.name[1])
    copies = copies_beyond_cache(k * n * bits // 8 + made.scales.nbytes)
    scales = [made.scales.clone() for _ in range(copies)]

    def launcher(kernel: Specialization) -> Callable[[int], object]:
        first = _random_storage(kernel, case)
        stored = [first, *(first.clone() for _ in range(copies - 1))]
        return lambda i: kernel(a, stored[i], scales[i], c)

    jobs = jobs_of(case)
    kernel = best(jobs if find_best else jobs[:1], launcher, copies)
    first = packed(kernel, case)
    stored = [first, *(first.clone() for _ in range(copies - 1))]

    def launch(i: int) -> None:
        kernel(a, stored[i], scales[i], c)

    def error() -> float:
        launch(0)
        return relative_error(c, problems.product(a, made, problems.values_of(case.name)))

    return Prepared(launch, copies, error, dict(kernel.config))


def quantized(case: Case) -> dict[str, Any]:
    return timed(prepare_quantized(case))


def grid(case: Case) -> dict[str, Any]:
    """The error alone, of the first choice."""
    return {"error": prepare_quantized(case, find_best=False).error()}


def dense(case: Case) -> dict[str, Any]:
    m, n, k = (case.dims[d] for d in "MNK")
    a = problems.activations(case)
    b = torch.randn(k, n, device="cuda").to(a.dtype)
    c = torch.full((m, n), torch.nan, dtype=a.dtype, device="cuda")
    copies = copies_beyond_cache(b.nbytes)
    every = [b, *(b.clone() for _ in range(copies - 1))]

    def launcher(kernel: Specialization) -> Callable[[int], object]:
        return lambda i: kernel(a, every[i], c)

    kernel = best(jobs_of(case), launcher, copies)
    launch = launcher(kernel)

    def error() -> float:
        launch(0)
        return relative_error(c, a.float() @ b.float())

    return timed(Prepared(launch, copies, error, dict(kernel.config)))
