"""For each kernel of examples/: operands on a GPU, and what torch computes of them in float64.

A problem function takes dims and the element type of `const T`. `roundings` counts how often a number
is rounded to T on the kernel's way from its inputs to an output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
Dims = dict[str, int]


@dataclass
class TorchProblem:
    """Arguments by name in the kernel's order, expected outputs; `codes` are packed before the call."""

    args: dict[str, Any]
    expected: dict[str, Tensor]
    roundings: float = 1.0
    codes: tuple[str, ...] = ()
    exact: tuple[str, ...] = field(default=())


def normal(shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Tensor:
    return (torch.randn(shape, device="cuda") * scale).to(TYPES[dtype])


def blank(shape: tuple[int, ...], dtype: str) -> Tensor:
    """An output before the call: an element that is not written is seen."""
    return torch.full(shape, torch.nan, dtype=TYPES[dtype], device="cuda")


def rounded(x: Tensor, dtype: str) -> Tensor:
    return x.to(TYPES[dtype]).double()


def vector_add(d: Dims, dtype: str) -> TorchProblem:
    x, y = normal((d["N"],), "f32"), normal((d["N"],), "f32")
    return TorchProblem(
        {"x": x, "y": y, "z": blank(x.shape, "f32")}, {"z": x.double() + y.double()}
    )


def softmax(d: Dims, dtype: str) -> TorchProblem:
    """An exponential is as wrong as its argument is far from the greatest: up to 40 here."""
    x = normal((d["M"], d["N"]), dtype, 4.0)
    expected = torch.softmax(x.double(), 1)
    return TorchProblem({"x": x, "y": blank(x.shape, dtype)}, {"y": expected}, roundings=2)


def softmax_rows(d: Dims, dtype: str) -> TorchProblem:
    return softmax(d, dtype)


def rmsnorm(d: Dims, dtype: str) -> TorchProblem:
    x, g = normal((d["M"], d["H"]), dtype), normal((d["H"],), dtype)
    args = {"x": x, "g": g, "y": blank(x.shape, dtype)}
    return TorchProblem(args, {"y": functional.rms_norm(x.double(), g.shape, g.double(), 1e-6)})


def layernorm(d: Dims, dtype: str) -> TorchProblem:
    x = normal((d["M"], d["H"]), dtype) + 3  # a mean that is not 0
    g, b = normal((d["H"],), dtype), normal((d["H"],), dtype)
    expected = functional.layer_norm(x.double(), g.shape, g.double(), b.double(), 1e-5)
    return TorchProblem({"x": x, "g": g, "b": b, "y": blank(x.shape, dtype)}, {"y": expected})


def angles(rows: int, width: int) -> Tensor:
    """The cosines and the sines of the angles at positions 0, 1, ... side by side."""
    frequency = 10_000.0 ** (-torch.arange(width // 2, device="cuda") / (width // 2))
    angle = torch.arange(rows, device="cuda")[:, None] * frequency
    return torch.cat([angle.cos(), angle.sin()], 1)


def rotated(x: Tensor, cos_sin: Tensor, interleaved: bool = False) -> Tensor:
    """Pairs of each head as complex numbers, times those of the angles, in float64."""
    rows, half = x.shape[0], cos_sin.shape[1] // 2
    turn = torch.complex(cos_sin[:, :half].double(), cos_sin[:, half:].double())[:, None]
    shape = (rows, -1, half, 2) if interleaved else (rows, -1, 2, half)
    axis = 3 if interleaved else 2
    pairs = x.double().view(shape)
    turned = torch.complex(pairs.select(axis, 0), pairs.select(axis, 1)) * turn
    return torch.stack([turned.real, turned.imag], axis).reshape(x.shape)


def rope(d: Dims, dtype: str, interleaved: bool = False) -> TorchProblem:
    x, cos_sin = normal((d["S"], d["Q"]), dtype), angles(d["S"], d["D"])
    return TorchProblem({"x": x, "cos_sin": cos_sin}, {"x": rotated(x, cos_sin, interleaved)})


def rope_interleaved(d: Dims, dtype: str) -> TorchProblem:
    return rope(d, dtype, interleaved=True)


def swiglu(d: Dims, dtype: str) -> TorchProblem:
    gate, up = normal((d["M"], d["F"]), dtype, 3.0), normal((d["M"], d["F"]), dtype)
    expected = functional.silu(gate.double()) * up.double()
    return TorchProblem({"gate": gate, "up": up, "y": blank(gate.shape, dtype)}, {"y": expected})


def gemm(d: Dims, dtype: str) -> TorchProblem:
    a, b = normal((d["M"], d["K"]), dtype), normal((d["K"], d["N"]), dtype)
    args = {"a": a, "b": b, "c": blank((d["M"], d["N"]), dtype)}
    return TorchProblem(args, {"c": a.double() @ b.double()})


def gemm_i8(d: Dims, dtype: str) -> TorchProblem:
    a, b = (
        torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda")
        for shape in ((d["M"], d["K"]), (d["K"], d["N"]))
    )
    c = torch.full((d["M"], d["N"]), -1, dtype=torch.int32, device="cuda")
    expected = a.double() @ b.double()  # integers below 2^53 are exact
    return TorchProblem({"a": a, "b": b, "c": c}, {"c": expected}, exact=("c",))


def gemm_residual(d: Dims, dtype: str) -> TorchProblem:
    made = gemm(d, dtype)
    r = normal((d["M"], d["N"]), dtype)
    args = {"a": made.args["a"], "b": made.args["b"], "r": r, "c": made.args["c"]}
    return TorchProblem(args, {"c": made.expected["c"] + r.double()})


def splitk_bias(d: Dims, dtype: str) -> TorchProblem:
    made = gemm(d, dtype)
    bias = normal((d["N"],), dtype)
    args = {"a": made.args["a"], "b": made.args["b"], "bias": bias, "c": made.args["c"]}
    return TorchProblem(args, {"c": made.expected["c"] + bias.double()})


def codes(shape: tuple[int, ...], bits: int = 4) -> Tensor:
    return torch.randint(0, 1 << bits, shape, dtype=torch.uint8, device="cuda")


def spread(x: Tensor, group: int) -> Tensor:
    """A row for each group of K, as float64 rows of K."""
    return x.double().repeat_interleave(group, 0)


def gemm_quantized(d: Dims, dtype: str) -> TorchProblem:
    a, w = normal((d["M"], d["K"]), dtype), codes((d["K"], d["N"]))
    s = (torch.rand(d["K"] // 128, d["N"], device="cuda") * 0.1 + 0.05).to(a.dtype)
    args = {"a": a, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    expected = a.double() @ (w.double() * spread(s, 128))
    return TorchProblem(args, {"c": expected}, roundings=2, codes=("w",))


def gemm_quantized_zeros(d: Dims, dtype: str) -> TorchProblem:
    made = gemm_quantized(d, dtype)
    a, w, c = (made.args[n] for n in "awc")
    z = codes((d["K"] // 32, d["N"]))
    s = (torch.rand(z.shape, device="cuda") * 0.1 + 0.05).to(a.dtype)
    expected = a.double() @ ((w.double() - spread(z, 32)) * spread(s, 32))
    args = {"a": a, "w": w, "s": s, "z": z, "c": c}
    return TorchProblem(args, {"c": expected}, roundings=2, codes=("w", "z"))


def gemm_quantized_sums(d: Dims, dtype: str) -> TorchProblem:
    return gemm_quantized(d, dtype)


def slices(x: Tensor) -> Tensor:
    """Integers [M, 8, K] whose sum, times 2^(7 i - 24), is x."""
    left, found = x.double(), []
    for i in reversed(range(8)):
        unit = 2.0 ** (7 * i - 24)
        found.append((left / unit).round())
        left = left - found[-1] * unit
    return torch.stack(found[::-1], 1).to(torch.int8)


def slice_rows(d: Dims, dtype: str) -> TorchProblem:
    x = normal((d["M"], d["K"]), dtype)
    bad = torch.zeros(d["M"], d["K"] // 128, device="cuda")
    made = slices(x)
    args = {"x": x, "d": torch.full_like(made, -1), "bad": torch.full_like(bad, torch.nan)}
    return TorchProblem(args, {"d": made.double(), "bad": bad.double()}, exact=("d", "bad"))


def gemv_quantized(d: Dims, dtype: str) -> TorchProblem:
    """In rows whose numbers differ by a factor of 2^13, as no number is rounded."""
    x = normal((d["M"], d["K"]), dtype) * torch.exp2(torch.arange(d["K"], device="cuda") % 13 - 9)
    w, c = codes((d["K"], d["N"]), 2), blank((d["M"], d["N"]), dtype)
    s = (torch.rand(d["K"] // 128, d["N"], device="cuda") * 0.1 + 0.05).to(c.dtype)
    args = {"x": x.to(c.dtype), "w": w, "s": s, "c": c}
    expected = args["x"].double() @ (w.double() * spread(s, 128))
    return TorchProblem(args, {"c": expected}, codes=("w",))


def gemv_sliced(d: Dims, dtype: str) -> TorchProblem:
    made = gemv_quantized(d, dtype)
    bad = torch.zeros(d["M"], d["K"] // 128, device="cuda")
    x, *rest = made.args.items()
    args = {"d": slices(x[1]), "bad": bad, **dict(rest)}
    return TorchProblem(args, made.expected, codes=("w",))


# The values of f4e2m1 by code, and those of f8e4m3 that are scales here.
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def e2m1(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Codes and what they mean."""
    found = codes(shape)
    values = torch.tensor([*E2M1, *(-x for x in E2M1)], dtype=torch.float64, device="cuda")
    return found, values[found.long()]


def gemm_mx(d: Dims, dtype: str) -> TorchProblem:
    a, (w, value) = normal((d["M"], d["K"]), dtype), e2m1((d["K"], d["N"]))
    s = torch.randint(120, 126, (d["K"] // 32, d["N"]), device="cuda").to(torch.uint8)
    args = {"a": a, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    expected = a.double() @ (value * torch.exp2(spread(s, 32) - 127))
    return TorchProblem(args, {"c": expected}, codes=("w",))


def gemm_nvfp4(d: Dims, dtype: str) -> TorchProblem:
    a, (w, value) = normal((d["M"], d["K"]), dtype), e2m1((d["K"], d["N"]))
    s = (torch.rand(d["K"] // 16, d["N"], device="cuda") * 400 + 1).to(torch.float8_e4m3fn)
    t = 2.0**-12
    args = {"a": a, "w": w, "s": s, "t": t, "c": blank((d["M"], d["N"]), dtype)}
    return TorchProblem(args, {"c": a.double() @ (value * spread(s.float(), 16)) * t}, codes=("w",))


def attention(d: Dims, dtype: str) -> TorchProblem:
    """S queries after L - S past keys of each sequence; fewer of the last sequence."""
    batch, rows, length, width = d["B"], d["S"], d["L"], d["D"]
    q = normal((batch, rows, d["HQ"], width), dtype)
    k, v = (normal((batch, length, d["HK"], width), dtype) for _ in range(2))
    past = torch.full((batch,), length - rows, dtype=torch.int32, device="cuda")
    past[-1] = (length - rows) // 2
    position = past[:, None].long() + torch.arange(rows, device="cuda")
    seen = torch.arange(length, device="cuda") <= position[..., None]
    o = functional.scaled_dot_product_attention(
        *(x.double().transpose(1, 2) for x in (q, k, v)), attn_mask=seen[:, None], enable_gqa=True
    )
    scale = float(np.float32(width**-0.5))
    args = {"q": q, "k": k, "v": v, "past": past, "scale": scale, "o": blank(q.shape, dtype)}
    # Weights are rounded for the second product, beside a total that is not, and so is the result.
    return TorchProblem(args, {"o": o.transpose(1, 2)}, roundings=3)


def factors(rows: int, rank: int, columns: int, dtype: str) -> tuple[Tensor, Tensor]:
    """Two factors that keep the magnitude of what they multiply."""
    u = normal((rows, rank), dtype, rows**-0.5)
    return u, normal((rank, columns), dtype, rank**-0.5)


def lowrank(d: Dims, dtype: str) -> TorchProblem:
    x = normal((d["M"], d["K"]), dtype)
    u, v = factors(d["K"], d["R"], d["N"], dtype)
    args = {"x": x, "u": u, "v": v, "y": blank((d["M"], d["N"]), dtype)}
    return TorchProblem(args, {"y": x.double() @ u.double() @ v.double()}, roundings=2)


def xw(d: Dims, dtype: str) -> TorchProblem:
    x, w = normal((d["M"], d["K"]), dtype), normal((d["K"], d["N"]), dtype)
    args = {"x": x, "w": w, "y": blank((d["M"], d["N"]), dtype)}
    return TorchProblem(args, {"y": x.double() @ w.double()})


def xuv(d: Dims, dtype: str) -> TorchProblem:
    return lowrank(d, dtype)


def xuv_to_t(d: Dims, dtype: str) -> TorchProblem:
    posed = lowrank(d, dtype)
    args = {**posed.args, "y": blank((d["N"], d["M"]), dtype)}
    return TorchProblem(args, {"y": posed.expected["y"].T}, posed.roundings)


def xuv_from_t(d: Dims, dtype: str) -> TorchProblem:
    posed = lowrank(d, dtype)
    args = {**posed.args, "x": posed.args["x"].T.contiguous()}
    return TorchProblem(args, posed.expected, posed.roundings)


def up_and_gate(d: Dims, dtype: str) -> TorchProblem:
    x = normal((d["M"], d["K"]), dtype)
    pairs = {n: factors(d["K"], d["R"], d["N"], dtype) for n in ("gate", "up")}
    gate, up = (x.double() @ u.double() @ v.double() for u, v in pairs.values())
    weights = {f"{n}_{part}": both[i] for n, both in pairs.items() for i, part in enumerate("uv")}
    args = {"x": x, **weights, "y": blank((d["N"], d["M"]), dtype)}
    return TorchProblem(args, {"y": (functional.silu(gate) * up).T}, roundings=3)


def mlp_low_rank(d: Dims, dtype: str) -> TorchProblem:
    """The hidden layer is rounded between the kernels."""
    first = up_and_gate(d, dtype)
    hidden = rounded(first.expected["y"], dtype)
    u, v = factors(d["N"], d["Q"], d["K"], dtype)
    weights = {n: a for n, a in first.args.items() if n != "y"}
    args = {**weights, "down_u": u, "down_v": v, "y": blank((d["M"], d["K"]), dtype)}
    return TorchProblem(args, {"y": hidden.T @ u.double() @ v.double()}, roundings=5)


def lowrank_mlp(d: Dims, dtype: str) -> TorchProblem:
    x = normal((d["M"], d["H"]), dtype)
    pairs = {
        "gate": factors(d["H"], d["P"], d["F"], dtype),
        "up": factors(d["H"], d["Q"], d["F"], dtype),
        "down": factors(d["F"], d["R"], d["H"], dtype),
    }
    gate, up = (x.double() @ u.double() @ v.double() for u, v in (pairs["gate"], pairs["up"]))
    u, v = pairs["down"]
    expected = (functional.silu(gate) * up) @ u.double() @ v.double()
    args = {
        f"{name}_{part}": both[i] for name, both in pairs.items() for i, part in enumerate("uv")
    }
    return TorchProblem({"x": x, **args, "y": blank(x.shape, dtype)}, {"y": expected}, roundings=3)


def quantized_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Codes and scales of rows by single roundings of f32, so that they are exact."""
    top = x.float().abs().amax(1).clamp(min=1e-30)
    # Divided by a tensor: on a GPU torch multiplies by the reciprocal of a number, which rounds twice.
    scale = top / torch.full_like(top, 127)
    return (x.float() / scale[:, None]).round().to(torch.int8), scale


def quantize_rows(d: Dims, dtype: str) -> TorchProblem:
    x = normal((d["M"], d["K"]), dtype)
    q, t = quantized_rows(x)
    args = {"x": x, "q": torch.full_like(q, -1), "t": torch.full_like(t, torch.nan)}
    return TorchProblem(args, {"q": q.double(), "t": t.double()}, exact=("q", "t"))


def _w4a8(d: Dims, dtype: str, group: int | None, program: bool) -> TorchProblem:
    x, w = normal((d["M"], d["K"]), dtype), codes((d["K"], d["N"]))
    q, t = quantized_rows(x)
    shape = (d["N"],) if group is None else (d["K"] // group, d["N"])
    s = torch.rand(shape, device="cuda") * 0.01 + 0.01
    b = (w.double() - 8) * (s.double() if group is None else spread(s, group))
    expected = t.double()[:, None] * (q.double() @ b)
    first = {"x": x} if program else {"q": q, "t": t}
    args = {**first, "w": w, "s": s, "c": blank((d["M"], d["N"]), dtype)}
    return TorchProblem(args, {"c": expected}, codes=("w",))


def gemm_w4a8_channel(d: Dims, dtype: str) -> TorchProblem:
    return _w4a8(d, dtype, None, program=False)


def gemm_w4a8_group(d: Dims, dtype: str) -> TorchProblem:
    return _w4a8(d, dtype, 128, program=False)


def w4a8_channel(d: Dims, dtype: str) -> TorchProblem:
    return _w4a8(d, dtype, None, program=True)


def w4a8_group(d: Dims, dtype: str) -> TorchProblem:
    return _w4a8(d, dtype, 128, program=True)


def attention_input(d: Dims, dtype: str) -> TorchProblem:
    """The roundings between the kernels are made here, too: each is a function of rounded inputs."""
    x, g = normal((d["S"], d["H"]), dtype), normal((d["H"],), dtype)
    columns = {"q": d["Q"], "k": d["KV"], "v": d["KV"]}
    weights = {n: normal((d["H"], c), dtype, d["H"] ** -0.5) for n, c in columns.items()}
    cos_sin = angles(d["S"], d["D"])
    normed = rounded(functional.rms_norm(x.double(), g.shape, g.double(), 1e-6), dtype)
    made = {n: rounded(normed @ w.double(), dtype) for n, w in weights.items()}
    expected = {n: y if n == "v" else rotated(y, cos_sin) for n, y in made.items()}
    inputs = {"x": x, "g": g, **{f"w{n}": w for n, w in weights.items()}, "cos_sin": cos_sin}
    outputs = {n: blank((d["S"], c), dtype) for n, c in columns.items()}
    return TorchProblem({**inputs, **outputs}, expected, roundings=1.5)


def mlp(d: Dims, dtype: str) -> TorchProblem:
    x, g = normal((d["S"], d["H"]), dtype), normal((d["H"],), dtype)
    wg, wu = (normal((d["H"], d["F"]), dtype, d["H"] ** -0.5) for _ in range(2))
    wd = normal((d["F"], d["H"]), dtype, d["F"] ** -0.5)
    normed = rounded(functional.rms_norm(x.double(), g.shape, g.double(), 1e-6), dtype)
    gate, up = (rounded(normed @ w.double(), dtype) for w in (wg, wu))
    hidden = rounded(functional.silu(gate) * up, dtype)
    args = {"x": x, "g": g, "wg": wg, "wu": wu, "wd": wd, "y": blank(x.shape, dtype)}
    return TorchProblem(args, {"y": x.double() + hidden @ wd.double()}, roundings=1.5)


PROBLEMS: dict[str, Callable[[Dims, str], TorchProblem]] = {
    function.__name__: function
    for function in (
        vector_add, softmax, softmax_rows, rmsnorm, layernorm, rope, rope_interleaved, swiglu, gemm,
        gemm_i8, gemm_residual, gemm_quantized, gemm_quantized_sums, gemm_quantized_zeros, gemm_mx,
        slice_rows, gemv_sliced, gemv_quantized,
        gemm_nvfp4, splitk_bias, attention, lowrank, xw, xuv, xuv_to_t, xuv_from_t,
        up_and_gate, mlp_low_rank, lowrank_mlp, quantize_rows, gemm_w4a8_channel,
        gemm_w4a8_group, w4a8_channel, w4a8_group, attention_input, mlp,
    )
}  # fmt: skip
