"""Causal attention with grouped heads, over whole sequences."""

from __future__ import annotations

from typing import Any

import torch
from dslc.models.plan import Constants
from dslc.nn.operators import Call, element, target_of
from torch import Tensor


class Attention(torch.nn.Module):
    """softmax(scale * q @ k^T, causal) @ v for each head; heads of queries share those of keys.

    `window` is the number of keys that a query sees (0: all before it), `cap` bounds scores as
    cap * tanh(score / cap). Gradients are computed by torch, with all scores at a time.
    """

    def __init__(
        self,
        head_size: int,
        *,
        scale: float | None = None,
        window: int = 0,
        cap: float = 0.0,
    ) -> None:
        super().__init__()
        self.head_size, self.window, self.cap = head_size, window, float(cap)
        self.scale = head_size**-0.5 if scale is None else float(scale)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q of [batch, sequence, heads, head_size], k and v of as many or fewer heads."""
        y: Tensor = attention(q, k, v, self.scale, self.window, self.cap)
        return y


@torch.library.custom_op("dslc::attention_heads", mutates_args=())
def attention(q: Tensor, k: Tensor, v: Tensor, scale: float, window: int, cap: float) -> Tensor:
    """Sequence by sequence: the kernel's caches are the keys and values themselves."""
    batch, length, heads, size = q.shape
    define: Constants = {
        "T": element(q),
        "D": size,
        "GROUP": heads // k.shape[2],
        "SCALE": scale,
        "WINDOW": window,
        "CAP": cap,
    }
    inputs = ("q", "keys", "values", "start")
    call = Call("models", "attention", target_of(q.device), define, inputs, "o")
    start = torch.zeros(1, dtype=torch.int32, device=q.device)
    flat = [t.reshape(batch, length, -1) for t in (q, k, v)]
    rows = [call([*(t[i] for t in flat), start], length, heads * size) for i in range(batch)]
    return torch.stack(rows).reshape(q.shape)


@attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, scale: float, window: int, cap: float) -> Tensor:
    return q.new_empty(q.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.scale, ctx.window, ctx.cap = inputs
    ctx.save_for_backward(*tensors)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    q, k, v = (t.float() for t in ctx.saved_tensors)
    length, group = q.shape[1], q.shape[2] // k.shape[2]
    k, v = (t.repeat_interleave(group, 2) for t in (k, v))
    scores = ctx.scale * torch.einsum("blhd,bmhd->bhlm", q, k)
    slope = 1 - torch.tanh(scores / ctx.cap) ** 2 if ctx.cap else None
    if ctx.cap:
        scores = ctx.cap * torch.tanh(scores / ctx.cap)
    at = torch.arange(length, device=q.device)
    seen = at[:, None] >= at
    if ctx.window:
        seen = seen & (at > at[:, None] - ctx.window)
    p = torch.softmax(scores.masked_fill(~seen, float("-inf")), -1)
    dy = gradient.float()
    dp = torch.einsum("blhd,bmhd->bhlm", dy, v)
    ds = p * (dp - (dp * p).sum(-1, keepdim=True)) * ctx.scale
    if slope is not None:
        ds = ds * slope
    dq = torch.einsum("bhlm,bmhd->blhd", ds, k)
    shape = (*k.shape[:2], -1, group, k.shape[3])
    dk = torch.einsum("bhlm,blhd->bmhd", ds, q).reshape(shape).sum(3)
    dv = torch.einsum("bhlm,blhd->bmhd", p, dy).reshape(shape).sum(3)
    gradients = (d.to(t.dtype) for d, t in zip((dq, dk, dv), ctx.saved_tensors, strict=True))
    return (*gradients, None, None, None)


attention.register_autograd(_gradients, setup_context=_keep)
