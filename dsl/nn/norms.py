"""Norms over the last axis."""

from __future__ import annotations

from typing import Any

import torch
from dslc.models.plan import Constants
from dslc.nn.operators import Call, element, target_of
from torch import Tensor


class RMSNorm(torch.nn.Module):
    """y = x / sqrt(mean(x * x) + eps) * weight, as torch.nn.RMSNorm over one axis."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        """Of the same shape."""
        y: Tensor = rmsnorm(x, self.weight, self.eps)
        return y


class LayerNorm(torch.nn.Module):
    """y = (x - mean) / sqrt(var + eps) * weight + bias, as torch.nn.LayerNorm over one axis."""

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(size))
        self.bias = torch.nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        """Of the same shape."""
        y: Tensor = layernorm(x, self.weight, self.bias, self.eps)
        return y


@torch.library.custom_op("dslc::rmsnorm_rows", mutates_args=())
def rmsnorm(x: Tensor, g: Tensor, eps: float) -> Tensor:
    """Rows of the last axis."""
    define: Constants = {"T": element(x), "EPS": eps}
    call = Call("models", "rmsnorm", target_of(x.device), define, ("x", "g"), "y")
    return _rows(call, x, g)


@torch.library.custom_op("dslc::layernorm_rows", mutates_args=())
def layernorm(x: Tensor, g: Tensor, b: Tensor, eps: float) -> Tensor:
    """Rows of the last axis."""
    define: Constants = {"T": element(x), "EPS": eps}
    call = Call("nn", "layernorm", target_of(x.device), define, ("x", "g", "b"), "y")
    return _rows(call, x, g, b)


def _rows(call: Call, x: Tensor, *others: Tensor) -> Tensor:
    rows = x.reshape(-1, x.shape[-1])
    y = call([rows, *(o.to(x.dtype) for o in others)], rows.shape[0], rows.shape[1])
    return y.reshape(x.shape)


@rmsnorm.register_fake
def _(x: Tensor, g: Tensor, eps: float) -> Tensor:
    return x.new_empty(x.shape)


@layernorm.register_fake
def _(x: Tensor, g: Tensor, b: Tensor, eps: float) -> Tensor:
    return x.new_empty(x.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, g, *_, ctx.eps = inputs
    ctx.save_for_backward(x, g)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    x, g = (t.float() for t in ctx.saved_tensors)
    dy, axes = gradient.float(), tuple(range(gradient.ndim - 1))
    scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + ctx.eps)
    unit = x * scale
    inner = dy * g
    dx = scale * (inner - unit * (inner * unit).mean(-1, keepdim=True))
    like_x, like_g = (t.dtype for t in ctx.saved_tensors)
    return dx.to(like_x), (dy * unit).sum(axes).to(like_g), None


def _centred_gradients(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    x, g = (t.float() for t in ctx.saved_tensors)
    dy, axes = gradient.float(), tuple(range(gradient.ndim - 1))
    centred = x - x.mean(-1, keepdim=True)
    scale = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + ctx.eps)
    unit = centred * scale
    inner = dy * g
    kept = inner - inner.mean(-1, keepdim=True) - unit * (inner * unit).mean(-1, keepdim=True)
    like_x, like_g = (t.dtype for t in ctx.saved_tensors)
    return (
        (scale * kept).to(like_x),
        (dy * unit).sum(axes).to(like_g),
        dy.sum(axes).to(like_g),
        None,
    )


rmsnorm.register_autograd(_gradients, setup_context=_keep)
layernorm.register_autograd(_centred_gradients, setup_context=_keep)
