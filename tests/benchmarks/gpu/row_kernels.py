"""The functions of rows and elements in torch: the references, and what torch.compile is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from gpu.cases import Case
from gpu.problems import TORCH
from torch import Tensor

HEAD = 128


def copy(x: Tensor) -> Tensor:
    return x.clone()


def rmsnorm(x: Tensor, g: Tensor) -> Tensor:
    row = x.float()
    scale = torch.rsqrt(row.square().mean(1, keepdim=True) + 1e-6)
    return (row * scale * g.float()).to(x.dtype)


def layernorm(x: Tensor, g: Tensor, b: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[1:], g, b, 1e-5)


def softmax_rows(x: Tensor) -> Tensor:
    return torch.softmax(x, 1)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    a = gate.float()
    return (a * torch.sigmoid(a) * up.float()).to(gate.dtype)


def rope(x: Tensor, cos_sin: Tensor) -> Tensor:
    half = cos_sin.shape[1] // 2
    pairs = x.view(x.shape[0], -1, 2, half).float()
    a, b = pairs[:, :, 0], pairs[:, :, 1]
    c, s = cos_sin[:, None, :half], cos_sin[:, None, half:]
    return torch.stack([a * c - b * s, b * c + a * s], 2).view(x.shape).to(x.dtype)


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    f.__name__: f for f in (copy, rmsnorm, layernorm, softmax_rows, swiglu, rope)
}


@dataclass
class Operands:
    """The inputs of a call; `size` are the bytes that it reads and writes."""

    inputs: list[Tensor]
    size: int


def angles(rows: int, width: int) -> Tensor:
    """Cosines and sines of rotary angles at positions 0, 1, ... side by side, f32."""
    frequency = 10_000.0 ** (-torch.arange(width // 2, device="cuda") / (width // 2))
    angle = torch.arange(rows, device="cuda")[:, None] * frequency
    return torch.cat([angle.cos(), angle.sin()], 1)


def operands(case: Case) -> Operands:
    """Normal numbers [M, N]; vectors of N; angles of M positions."""
    m, n = case.dims["M"], case.dims["N"]
    dtype = TORCH[case.dtype]
    generator = torch.Generator("cuda").manual_seed(m)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, device="cuda").to(dtype)

    inputs = [normal(m, n)]
    if case.name == "swiglu":
        inputs.append(normal(m, n))
    elif case.name in ("rmsnorm", "layernorm"):
        inputs += [normal(n) for _ in range(1 if case.name == "rmsnorm" else 2)]
    elif case.name == "rope":
        inputs.append(angles(m, HEAD))
    return Operands(inputs, sum(t.nbytes for t in inputs) + inputs[0].nbytes)


def reference(case: Case, inputs: list[Tensor]) -> Tensor:
    """The same in float32."""
    return FUNCTIONS[case.name](*(t.float() for t in inputs))
