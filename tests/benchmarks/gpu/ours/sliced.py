"""gemv_quantized.tile: one row in slices, two launches, timed together.

`slice_rows` writes buffers that `gemv_sliced` reads, as in the program of the file; a choice is one of
the second kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import torch
from dslc.compilation.specialization import Specialization
from gpu.cases import GROUP, Case
from gpu.ours.kernels import Job, build, job, jobs_for, target

FILE, KERNEL = "gemv_quantized", "gemv_sliced"
BITS = 3  # of weights up to which instructions are the bound


def jobs_of(case: Case) -> list[Job]:
    """Choices for one row of f16 and integers of few bits; none for other cases."""
    if case.dims["M"] != 1 or case.dtype != "f16" or case.name[0] == "f":
        return []
    if int(case.name[1:]) > BITS:
        return []
    return jobs_for(FILE, KERNEL, {"W": case.name}, dict(case.dims), 1)


def helpers_of(cases: Iterable[Case]) -> list[Job]:
    """What else has to be compiled for their choices."""
    return [_slicing(k) for k in {case.dims["K"] for case in cases if jobs_of(case)}]


def _slicing(k: int) -> Job:
    return job(FILE, "slice_rows", {}, {"M": 1, "K": k}, {})


@functools.cache
def _ready(k: int) -> tuple[Specialization, torch.Tensor, torch.Tensor]:
    """The kernel that slices a row, and the buffers that it fills."""
    slices = torch.zeros(1, 8, k, dtype=torch.int8, device="cuda")
    bad = torch.zeros(1, k // GROUP, device="cuda")
    return build(_slicing(k), target()), slices, bad


def launch(kernel: Specialization, a: torch.Tensor, operands: Sequence[torch.Tensor]) -> None:
    """A product by `kernel` of rows `a` and of weights, scales and result; both launches if sliced."""
    if kernel.name != KERNEL:
        kernel(a, *operands)
        return
    slice_row, slices, bad = _ready(a.shape[1])
    slice_row(a, slices, bad)
    kernel(slices, bad, *operands)
