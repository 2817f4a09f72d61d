"""The feed-forward half of a layer: down(act(gate(x)) * up(x))."""

from __future__ import annotations

from typing import Any

import torch
from dslc.models.plan import Constants
from dslc.nn.linear import Linear
from dslc.nn.operators import Call, element, target_of
from torch import Tensor

_KERNELS = {"silu": "silu_gate", "gelu_tanh": "gelu_gate"}
_ROOT, _CUBE = 0.7978845608028654, 0.044715  # of the approximation of gelu by tanh


class GatedMLP(torch.nn.Module):
    """Of weights [inner, hidden] twice and [hidden, inner], as torch has them.

    Gate and up are one product. `activation` is silu or gelu_tanh. x has a gradient.
    """

    def __init__(
        self,
        gate: Tensor,
        up: Tensor,
        down: Tensor,
        *,
        activation: str = "silu",
        quantize: str = "",
    ) -> None:
        super().__init__()
        self.inner, self.kernel = gate.shape[0], _KERNELS[activation]
        self.gate_up = Linear.of(torch.cat([gate, up]), quantize=quantize)
        self.down = Linear.of(down, quantize=quantize)

    def forward(self, x: Tensor) -> Tensor:
        """Of the same shape."""
        both = self.gate_up(x.reshape(-1, x.shape[-1]))
        y: Tensor = self.down(gated(both, self.kernel, self.inner))
        return y.reshape(x.shape)


@torch.library.custom_op("dslc::gated", mutates_args=())
def gated(both: Tensor, kernel: str, inner: int) -> Tensor:
    """act(gate) * up of rows that have both, side by side."""
    define: Constants = {"T": element(both), "UPAT": inner}
    call = Call("models", kernel, target_of(both.device), define, ("gate", "up"), "y")
    return call([both, both], both.shape[0], inner)


@gated.register_fake
def _(both: Tensor, kernel: str, inner: int) -> Tensor:
    return both.new_empty((both.shape[0], inner))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    both, ctx.kernel, ctx.inner = inputs
    ctx.save_for_backward(both)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    (both,) = ctx.saved_tensors
    a, b = both.float().split(ctx.inner, dim=1)
    if ctx.kernel == _KERNELS["silu"]:
        s = torch.sigmoid(a)
        y, slope = a * s, s * (1 + a * (1 - s))
    else:
        t = torch.tanh(_ROOT * (a + _CUBE * a**3))
        y, slope = (
            0.5 * a * (1 + t),
            0.5 * (1 + t) + 0.5 * a * (1 - t * t) * _ROOT * (1 + 3 * _CUBE * a * a),
        )
    dy = gradient.float()
    return torch.cat([dy * b * slope, dy * y], dim=1).to(both.dtype), None, None


gated.register_autograd(_gradients, setup_context=_keep)
