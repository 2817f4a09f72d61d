"""Whole kernels of the library beside torch: its functions, its gradients, its optimisers."""

from __future__ import annotations

from typing import Any

import dslc
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def kernels(module: str, *names: str, **define: object) -> Any:
    source = f"from std.{module} import {', '.join(names)}\n"
    return dslc.compile(source, "interp", define={"T": "f32", **define}, cache=False)


def normal(*shape: int, grad: bool = False) -> Any:
    torch.manual_seed(len(shape) + sum(shape))
    return torch.randn(*shape, requires_grad=grad)


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted.detach(), rtol=2e-4, atol=2e-5)


def test_softmax_and_its_gradient() -> None:
    lib = kernels("softmax", "softmax", "softmax_rows", "softmax_backward")
    x, dy = normal(5, 300, grad=True), normal(5, 300)
    y = torch.softmax(x, 1)
    y.backward(dy)
    for name in ("softmax", "softmax_rows"):
        found = torch.empty(5, 300)
        lib[name](x.detach(), found)
        close(found, y)
    dx = torch.empty(5, 300)
    lib.softmax_backward(y.detach(), dy, dx)
    close(dx, x.grad)


@pytest.mark.parametrize("name", ["rmsnorm", "layernorm"])
def test_norms_and_their_gradients(name: str) -> None:
    lib = kernels("rows", name, f"{name}_backward")
    x, g, b, dy = normal(6, 80, grad=True), normal(80, grad=True), normal(80), normal(6, 80)
    b.requires_grad_(True)
    found, dx, dg, db = torch.empty(6, 80), torch.empty(6, 80), torch.zeros(80), torch.zeros(80)
    if name == "rmsnorm":
        y = torch.nn.functional.rms_norm(x, (80,), g, eps=1e-6)
        y.backward(dy)
        lib.rmsnorm(x.detach(), g.detach(), found)
        lib.rmsnorm_backward(dy, x.detach(), g.detach(), dx, dg)
    else:
        y = torch.nn.functional.layer_norm(x, (80,), g, b, eps=1e-5)
        y.backward(dy)
        lib.layernorm(x.detach(), g.detach(), b.detach(), found)
        lib.layernorm_backward(dy, x.detach(), g.detach(), dx, dg, db)
        close(db, b.grad)
    close(found, y)
    close(dx, x.grad)
    close(dg, g.grad)


def test_cross_entropy_and_its_gradient() -> None:
    lib = kernels("losses", "cross_entropy", "cross_entropy_gradient")
    logits, target = normal(7, 500, grad=True), torch.tensor([0, 499, -100, 3, 77, 250, 499])
    losses = torch.nn.functional.cross_entropy(logits, target, reduction="none")
    losses.sum().backward()
    loss, ids, changed = torch.empty(7), target.int(), logits.detach().clone()
    lib.cross_entropy(logits.detach(), ids, -100, loss)
    close(loss, losses)
    lib.cross_entropy_gradient(changed, ids, -100, 1.0, loss)
    close(loss, losses)
    close(changed, logits.grad)


def test_adamw_takes_torch_s_steps() -> None:
    lib = kernels("optimizers", "adamw")
    w = normal(300).requires_grad_(True)
    own, m, v = w.detach().clone(), torch.zeros(300), torch.zeros(300)
    torch_s = torch.optim.AdamW([w], lr=0.05, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.1)
    for step in range(1, 5):
        grad = normal(300 + step)[:300].contiguous()
        w.grad = grad.clone()
        torch_s.step()
        corrections = 1 - 0.9**step, 1 - 0.98**step
        lib.adamw(own, grad, m, v, 0.05, 0.9, 0.98, 1e-8, 0.1, *corrections)
    close(own, w)


def test_attention() -> None:
    lib = kernels("attention", "attention")
    q, k, v = normal(2, 9, 4, 16), normal(2, 9, 2, 16) * 0.9, normal(2, 9, 2, 16)
    o = torch.empty(2, 9, 4, 16)
    lib.attention(q, k, v, torch.zeros(2, dtype=torch.int32), 0.25, o)
    heads = (t.transpose(1, 2) for t in (q, k.repeat_interleave(2, 2), v.repeat_interleave(2, 2)))
    wanted = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True, scale=0.25)
    close(o, wanted.transpose(1, 2))


def test_linear_layers() -> None:
    lib = kernels("linear", "linear", "linear_bias")
    x, w, b, y = normal(5, 70), normal(33, 70), normal(33), torch.empty(5, 33)
    lib.linear(x, w, y)
    close(y, torch.nn.functional.linear(x, w))
    lib.linear_bias(x, w, b, y)
    close(y, torch.nn.functional.linear(x, w, b))


@pytest.mark.parametrize(("stride", "pad"), [(1, 0), (2, 1)])
def test_convolution(stride: int, pad: int) -> None:
    lib = kernels("convolution", "conv2d", STRIDE=stride, PAD=pad)
    x, w = normal(2, 9, 11, 5), normal(3, 3, 5, 7)
    channels_first = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
    wanted = torch.nn.functional.conv2d(*channels_first, stride=stride, padding=pad)
    y = torch.empty(*wanted.permute(0, 2, 3, 1).shape)
    lib.conv2d(x, w, y)
    close(y, wanted.permute(0, 2, 3, 1))


def test_top_k_of_torch_and_of_the_language() -> None:
    source = """
kernel best(x: f32[M, 50], values: out f32[M, 6], at: out i32[M, 6], order: out i32[M, 50]):
    for m in parallel(range(0, M, 4)):
        t = x[m : m + 4, :]
        v, i = topk(t, 6, 1)
        values[m : m + 4, :] = v
        at[m : m + 4, :] = i
        order[m : m + 4, :] = argsort(t, 1, descending=True)
"""
    x = normal(7, 50)
    x[2, 11] = torch.nan
    values, at = torch.empty(7, 6), torch.empty(7, 6, dtype=torch.int32)
    order = torch.empty(7, 50, dtype=torch.int32)
    dslc.compile(source, "interp", cache=False).best(x, values, at, order)
    wanted = torch.topk(x, 6, 1)
    torch.testing.assert_close(values, wanted.values, equal_nan=True)
    assert torch.equal(at.long(), wanted.indices)
    assert torch.equal(order.long(), torch.argsort(x, dim=1, descending=True, stable=True))
