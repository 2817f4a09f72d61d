"""torch's scaled_dot_product_attention by cuDNN, and by its own flash attention."""

from __future__ import annotations

from typing import Any

import torch
from gpu import attention_problem
from gpu.cases import Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from torch.nn.attention import SDPBackend, sdpa_kernel


def versions() -> dict[str, str]:
    return {"torch": torch.__version__, "cudnn": str(torch.backends.cudnn.version())}


def measured(case: Case, backend: SDPBackend) -> dict[str, Any]:
    causal = case.name == "causal"
    q, k, v = attention_problem.operands(case)
    copies = copies_beyond_cache(4 * q.nbytes)
    every = [[t.transpose(1, 2).contiguous() for t in (q, k, v)] for _ in range(copies)]

    def attend(i: int) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(*every[i], is_causal=causal)

    def error() -> float:
        expected = attention_problem.reference(q, k, v, causal)
        return relative_error(attend(0).transpose(1, 2), expected)

    with sdpa_kernel(backend):
        return timed(Prepared(attend, copies, error))


def cudnn(case: Case) -> dict[str, Any]:
    return measured(case, SDPBackend.CUDNN_ATTENTION)


def flash(case: Case) -> dict[str, Any]:
    return measured(case, SDPBackend.FLASH_ATTENTION)
