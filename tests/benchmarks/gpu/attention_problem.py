"""Attention: operands [B = 1, S, H, D], and a float32 reference head by head."""

from __future__ import annotations

import torch
from gpu.cases import Case
from gpu.problems import TORCH
from torch import Tensor


def operands(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    s, h, d = (case.dims[name] for name in "SHD")
    generator = torch.Generator("cuda").manual_seed(s)
    made = [
        torch.randn(1, s, h, d, generator=generator, device="cuda").to(TORCH[case.dtype])
        for _ in range(3)
    ]
    return made[0], made[1], made[2]


def reference(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """softmax(q k^T / sqrt(D)) v in float32."""
    out = torch.empty(q.shape, device=q.device)
    for head in range(q.shape[2]):
        scores = q[0, :, head].float() @ k[0, :, head].float().T * q.shape[3] ** -0.5
        if causal:
            later = torch.ones_like(scores, dtype=torch.bool).triu_(1)
            scores.masked_fill_(later, -torch.inf)
        out[0, :, head] = scores.softmax(1) @ v[0, :, head].float()
    return out
