"""Problems of a language model's layers for the tests against torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional
from torch_problems import Dims, TorchProblem, attention, blank, normal, rounded


def _attended(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, width: int = 64) -> Tensor:
    """Attention over rows that hold heads side by side."""
    rows, shared = q.shape[0], q.shape[1] // k.shape[1]
    queries = q.double().view(rows, -1, width).transpose(0, 1)
    keys, values = (
        t.double().view(len(t), -1, width).repeat_interleave(shared, 1).transpose(0, 1)
        for t in (k, v)
    )
    scores = (queries @ keys.transpose(1, 2)) * width**-0.5
    p = scores.masked_fill(~seen, float("-inf")).softmax(-1)
    return (p @ values).transpose(0, 1).reshape(q.shape)


def flash_attention(d: Dims, dtype: str) -> TorchProblem:
    q = normal((d["S"], d["Q"]), dtype)
    k, v = (normal((d["L"], d["KV"]), dtype) for _ in "kv")
    seen = torch.ones((d["S"], d["L"]), dtype=torch.bool, device="cuda").tril()
    args = {"q": q, "k": k, "v": v, "o": blank(q.shape, dtype)}
    return TorchProblem(args, {"o": _attended(q, k, v, seen)}, roundings=3)


def attention_step(d: Dims, dtype: str) -> TorchProblem:
    q = normal((1, d["Q"]), dtype)
    k, v = (normal((d["L"], d["KV"]), dtype) for _ in "kv")
    last = torch.tensor([d["L"] * 3 // 4], dtype=torch.int32, device="cuda")
    seen = torch.arange(d["L"], device="cuda")[None] <= last
    args = {"q": q, "k": k, "v": v, "last": last, "o": blank(q.shape, dtype)}
    return TorchProblem(args, {"o": _attended(q, k, v, seen)}, roundings=3)


def attention_parts(d: Dims, dtype: str) -> TorchProblem:
    """Of each part, as many blocks of 64 keys as another: sums, greatest scores, weights."""
    given = attention(d, dtype).args
    q, k, v, past, scale = (given[n] for n in ("q", "k", "v", "past", "scale"))
    shared = d["HQ"] // d["HK"]
    queries = q.double().transpose(1, 2)
    keys, values = (x.double().repeat_interleave(shared, 2).transpose(1, 2) for x in (k, v))
    scores = queries @ keys.transpose(2, 3) * (scale * 1.4426950408889634)
    number = torch.arange(d["L"], device="cuda")
    each = ((past + d["S"] + d["P"] - 1) // d["P"] + 63) // 64 * 64
    position = past[:, None] + torch.arange(d["S"], device="cuda")
    seen = (number <= position[..., None])[:, None]
    made: dict[str, list[Tensor]] = {"o": [], "top": [], "total": []}
    for p in range(d["P"]):
        here = seen & ((number // each[:, None]) == p)[:, None, None]
        own = scores.masked_fill(~here, -1e30 * scale * 1.4426950408889634)
        top = own.amax(-1, keepdim=True)
        weights = torch.where(here, torch.exp2(own - top), 0.0)
        for name, x in (("o", weights @ values), ("top", top[..., 0]), ("total", weights.sum(-1))):
            made[name].append(x.transpose(1, 2))
    expected = {n: torch.stack(x, 1) for n, x in made.items()}
    outputs = {n: blank(x.shape, "f32") for n, x in expected.items()}
    inputs = {"q": q, "k": k, "v": v, "past": past, "scale": scale}
    return TorchProblem({**inputs, **outputs}, expected, roundings=3)


def join_parts(d: Dims, dtype: str) -> TorchProblem:
    shape = (d["B"], d["P"], d["S"], d["HQ"])
    o = normal((*shape, d["D"]), "f32")
    top, total = normal(shape, "f32"), normal(shape, "f32").abs() + 1
    share = torch.exp2(top.double() - top.double().amax(1, keepdim=True))
    y = (o.double() * share[..., None]).sum(1) / (total.double() * share).sum(1)[..., None]
    return TorchProblem({"o": o, "top": top, "total": total, "y": blank(y.shape, dtype)}, {"y": y})


def attention_decode(d: Dims, dtype: str) -> TorchProblem:
    posed = attention(d, dtype)
    args = {"y" if n == "o" else n: x for n, x in posed.args.items()}
    return TorchProblem(args, {"y": posed.expected["o"]}, posed.roundings)


def _after_attention(d: Dims, o: Tensor, x: Tensor, dtype: str) -> TorchProblem:
    """Rounded between the kernels."""
    g = normal((d["H"],), dtype)
    wo = normal((d["Q"], d["H"]), dtype, d["Q"] ** -0.5)
    wg, wu = (normal((d["H"], d["F"]), dtype, d["H"] ** -0.5) for _ in range(2))
    wd = normal((d["F"], d["H"]), dtype, d["F"] ** -0.5)
    h = rounded(x.double() + o @ wo.double(), dtype)
    normed = rounded(functional.rms_norm(h.double(), g.shape, g.double(), 1e-6), dtype)
    gate, up = (rounded(normed @ w.double(), dtype) for w in (wg, wu))
    hidden = rounded(functional.silu(gate) * up, dtype)
    args = {"wo": wo, "x": x, "g": g, "wg": wg, "wu": wu, "wd": wd, "y": blank(x.shape, dtype)}
    return TorchProblem(args, {"y": h.double() + hidden @ wd.double()}, roundings=3)


def output_ffn(d: Dims, dtype: str) -> TorchProblem:
    o, x = normal((d["S"], d["Q"]), dtype), normal((d["S"], d["H"]), dtype)
    posed = _after_attention(d, o.double(), x, dtype)
    return TorchProblem({"o": o, **posed.args}, posed.expected, posed.roundings)


def decode_layer(d: Dims, dtype: str) -> TorchProblem:
    step = attention_step(d, dtype)
    posed = _after_attention(
        d, rounded(step.expected["o"], dtype).double(), normal((1, d["H"]), dtype), dtype
    )
    given = {n: a for n, a in step.args.items() if n != "o"}
    return TorchProblem({**given, **posed.args}, posed.expected, posed.roundings)


def logits(d: Dims, dtype: str) -> TorchProblem:
    a = normal((d["M"], d["K"]), dtype)
    b = normal((d["K"], d["N"]), dtype, d["K"] ** -0.5)
    args = {"a": a, "b": b, "c": blank((d["M"], d["N"]), "f32")}
    return TorchProblem(args, {"c": a.double() @ b.double()})


def lm_head(d: Dims, dtype: str) -> TorchProblem:
    x, g = normal((d["S"], d["H"]), dtype), normal((d["H"],), dtype)
    weights = [normal((d["H"], d["P"]), dtype, d["H"] ** -0.5) for _ in range(8)]
    normed = rounded(functional.rms_norm(x.double(), g.shape, g.double(), 1e-6), dtype)
    expected = {f"y{i}": normed.double() @ w.double() for i, w in enumerate(weights)}
    named = {f"w{i}": w for i, w in enumerate(weights)}
    outputs = {n: blank((d["S"], d["P"]), "f32") for n in expected}
    return TorchProblem({"x": x, "g": g, **named, **outputs}, expected)


PROBLEMS: dict[str, Callable[[Dims, str], TorchProblem]] = {
    function.__name__: function
    for function in (
        attention_parts,
        join_parts,
        attention_decode,
        flash_attention,
        attention_step,
        output_ffn,
        decode_layer,
        logits,
        lm_head,
    )
}
