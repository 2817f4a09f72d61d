"""cuBLAS by torch: dense products of f16, bf16 and f8e4m3, without quantisation."""

from __future__ import annotations

from typing import Any

import torch
from gpu.cases import Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from gpu.problems import activations


def versions() -> dict[str, str]:
    return {"torch": torch.__version__}


def dense(case: Case) -> dict[str, Any]:
    """c = a @ b with b as [N, K] storage, the one that the library is quickest with.

    Products of f8e4m3 accumulate fast, as ours do, and give f16.
    """
    m, n, k = (case.dims[d] for d in "MNK")
    a = activations(case)
    small = a.dtype.itemsize == 1
    b = torch.randn(n, k, device="cuda").to(a.dtype)
    c = torch.full((m, n), torch.nan, dtype=torch.float16 if small else a.dtype, device="cuda")
    one = torch.tensor(1.0, device="cuda")
    fast = {"scale_a": one, "scale_b": one, "out_dtype": c.dtype, "use_fast_accum": True}
    copies = copies_beyond_cache(b.nbytes)
    every = [b, *(b.clone() for _ in range(copies - 1))]

    def launch(i: int) -> None:
        if small:
            torch._scaled_mm(a, every[i].T, out=c, **fast)
        else:
            torch.mm(a, every[i].T, out=c)

    def error() -> float:
        launch(0)
        return relative_error(c, a.float() @ b.T.float())

    return timed(Prepared(launch, copies, error))


def quantized(case: Case) -> dict[str, Any] | None:
    """The same product with f16 weights, once for each shape: what quantisation has to beat."""
    return dense(case) if case.name == "u4" else None
