"""cuBLAS by torch: dense products of f16 and bf16, without quantisation."""

from __future__ import annotations

from typing import Any

import torch
from gpu.cases import Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from gpu.problems import activations


def versions() -> dict[str, str]:
    return {"torch": torch.__version__}


def dense(case: Case) -> dict[str, Any]:
    """c = a @ b with b as [N, K] storage, the one that the library is quickest with."""
    m, n, k = (case.dims[d] for d in "MNK")
    a = activations(case)
    b = torch.randn(n, k, device="cuda").to(a.dtype)
    c = torch.full((m, n), torch.nan, dtype=a.dtype, device="cuda")
    copies = copies_beyond_cache(b.nbytes)
    every = [b, *(b.clone() for _ in range(copies - 1))]

    def launch(i: int) -> None:
        torch.mm(a, every[i].T, out=c)

    def error() -> float:
        launch(0)
        return relative_error(c, a.float() @ b.T.float())

    return timed(Prepared(launch, copies, error))


def quantized(case: Case) -> dict[str, Any] | None:
    """The same product with f16 weights, once for each shape: what quantisation has to beat."""
    return dense(case) if case.name == "u4" else None
