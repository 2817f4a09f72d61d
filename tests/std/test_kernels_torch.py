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


def test_linear_layers_and_their_gradients() -> None:
    lib = kernels("linear", "linear", "linear_backward_input", "linear_backward_weight")
    x, w, b = normal(5, 70, grad=True), normal(33, 70, grad=True), normal(33, grad=True)
    wanted = torch.nn.functional.linear(x, w, b)
    dy, y = normal(5, 33), torch.empty(5, 33)
    wanted.backward(dy)
    rows, weight = x.detach(), w.detach()
    lib.linear(rows, weight, y, b.detach())
    close(y, wanted)
    lib.linear(rows, weight, y)
    close(y, torch.nn.functional.linear(x, w))
    dx, dw, db = torch.empty(5, 70), torch.empty(33, 70), torch.empty(33)
    lib.linear_backward_input(dy, weight, dx)
    lib.linear_backward_weight(dy, rows, dw, db)
    for own, of in ((dx, x), (dw, w), (db, b)):
        close(own, of.grad)


def test_a_gated_layer_with_an_adapter() -> None:
    lib = kernels("linear", "linear", ACTIVATION="silu")
    x, w, up, a, b = (
        normal(5, 70),
        normal(33, 70),
        normal(33, 71)[:, :70],
        normal(8, 70),
        normal(33, 8),
    )
    y = torch.empty(5, 33)
    lib.linear(x, w, y, up=up.contiguous(), lora_a=a, lora_b=b, lora_scale=0.5)
    gate = torch.nn.functional.linear(x, w + 0.5 * b @ a)
    close(y, torch.nn.functional.silu(gate) * torch.nn.functional.linear(x, up))


def test_gates_and_their_gradients() -> None:
    lib = kernels("gated", "gated", "gated_backward")
    gate, up, dy = normal(5, 70, grad=True), normal(5, 71, grad=True), normal(5, 70) * 0.9
    wanted = torch.nn.functional.silu(gate) * up[:, :70]
    wanted.backward(dy)
    args = gate.detach(), up.detach()[:, :70].contiguous()
    y, dgate, dup = torch.empty(5, 70), torch.empty(5, 70), torch.empty(5, 70)
    lib.gated(*args, y)
    lib.gated_backward(dy, *args, dgate, dup)
    close(y, wanted)
    close(dgate, gate.grad)
    close(dup, up.grad[:, :70])


def test_products_of_sorted_rows_have_torch_s_gradients() -> None:
    lib = kernels("experts", "grouped_linear", "grouped_backward_input", "grouped_backward_weight")
    a, w, dc = normal(21, 40, grad=True), normal(3, 40, 24, grad=True), normal(21, 24)
    ends = torch.tensor([4, 4, 21], dtype=torch.int32)
    wanted = torch.cat([a[:4] @ w[0], a[4:] @ w[2]])
    wanted.backward(dc)
    c, da, dw = torch.empty(21, 24), torch.empty(21, 40), torch.empty(3, 40, 24)
    lib.grouped_linear(a.detach(), w.detach(), ends, c)
    lib.grouped_backward_input(dc, w.detach(), ends, da)
    lib.grouped_backward_weight(dc, a.detach(), ends, dw)
    close(c, wanted)
    close(da, a.grad)
    close(dw, w.grad)


def attention_of(q: Any, k: Any, v: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """One sequence in torch: the last query stands at the last key."""
    heads = q.shape[1] // k.shape[1]
    x = torch.einsum("shd,lhd->hsl", q, k.repeat_interleave(heads, 1)) * 0.25
    gap = torch.arange(len(q))[:, None] + len(k) - len(q) - torch.arange(len(k))
    hidden = gap < 0
    if cap := options.get("cap"):
        x = cap * torch.tanh(x / cap)
    if "slopes" in options:
        x = x - options["slopes"][:, None, None] * gap.abs()
    if window := options.get("window"):
        hidden = hidden | (gap >= window)
    x = x.masked_fill(hidden, -torch.inf)
    if "sinks" in options:
        x = torch.cat([x, options["sinks"][:, None, None].expand(-1, len(q), 1)], -1)
    p = torch.softmax(x, -1)[..., : len(k)]
    o = torch.einsum("hsl,lhd->shd", p, v.repeat_interleave(heads, 1))
    return o, torch.logsumexp(x, -1).T


@pytest.mark.parametrize(
    "names", ["", "window", "cap", "slopes", "sinks", "window cap slopes sinks"]
)
def test_attention_of_packed_sequences_and_its_gradients(names: str) -> None:
    forward = kernels("attention", "attention_varlen").attention_varlen
    backward = kernels("attention_backward", "attention_backward").attention_backward
    q, k, v = (
        normal(21, 4, 16, grad=True),
        normal(62, 2, 16, grad=True),
        normal(62, 2, 24, grad=True),
    )
    sinks = normal(4, grad=True)
    every = {"window": 20, "cap": 3.0, "slopes": normal(4).abs() / 4, "sinks": sinks}
    options = {name: every[name] for name in names.split()}
    starts, key_starts = [0, 3, 3, 21], [0, 40, 44, 62]
    parts = [
        attention_of(q[a:b], k[c:d], v[c:d], options)
        for a, b, c, d in zip(starts, starts[1:], key_starts, key_starts[1:], strict=False)
    ]
    wanted, sums = torch.cat([o for o, _ in parts]), torch.cat([lse for _, lse in parts])
    grad = normal(21, 4, 24)
    wanted.backward(grad)
    plain = {n: x.detach() if isinstance(x, torch.Tensor) else x for n, x in options.items()}
    ends = torch.tensor(starts, dtype=torch.int32), torch.tensor(key_starts, dtype=torch.int32)
    rows = q.detach(), k.detach(), v.detach()
    o, lse = torch.empty(21, 4, 24), torch.empty(21, 4)
    forward(*rows, *ends, 18, 0.25, o, lse, **plain)
    close(o, wanted)
    close(lse, sums)
    dq, dk, dv = (torch.empty_like(x) for x in rows)
    if "sinks" in plain:
        plain["dsinks"] = torch.zeros(4)
    backward(*rows, o, grad, lse, *ends, 40, 0.25, dq, dk, dv, **plain)
    for own, of in ((dq, q), (dk, k), (dv, v)):
        close(own, of.grad)
    if "sinks" in plain:
        close(plain["dsinks"], sinks.grad)


def test_embeddings_and_recurrences_have_torch_s_gradients() -> None:
    table, ids, dy = normal(9, 70, grad=True), torch.tensor([3, 0, 8, 3, 1]), normal(5, 70)
    torch.nn.functional.embedding(ids, table).backward(dy)
    dtable = torch.zeros(9, 70)
    kernels("embeddings", "embedding_backward").embedding_backward(ids.int(), dy, dtable)
    close(dtable, table.grad)
    lib = kernels("recurrences", "gated_sum", "gated_sum_backward")
    gate, u = normal(2, 21, 40, grad=True), normal(2, 21, 41, grad=True)
    g, rows, now = torch.sigmoid(gate), [], torch.zeros(2, 40)
    g.retain_grad()
    for s in range(21):
        now = g[:, s] * now + u[:, s, :40]
        rows.append(now)
    wanted, dh = torch.stack(rows, 1), normal(2, 21, 40)
    wanted.backward(dh)
    gates, h = g.detach(), torch.empty(2, 21, 40)
    lib.gated_sum(gates, u.detach()[..., :40].contiguous(), h)
    close(h, wanted)
    dg, du = torch.empty(2, 21, 40), torch.empty(2, 21, 40)
    lib.gated_sum_backward(gates, h, dh, dg, du)
    close(dg, g.grad)
    close(du, u.grad[..., :40])


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
