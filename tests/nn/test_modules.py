"""Modules of torch over kernels: numbers, gradients, states, copies, torch.compile."""

from __future__ import annotations

import io
import pickle

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

import dslc.nn  # noqa: E402
from dslc.quantize import quantize, quantize_mx  # noqa: E402


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("kind", ["", "u4:32", "i8:64", "f4e2m1:32"])
@pytest.mark.parametrize("rows", [1, 5, 20])
def test_a_product_is_that_with_its_own_matrix(kind, rows):
    weight, bias = torch.randn(48, 64), torch.randn(48)
    layer = dslc.nn.Linear.of(weight, bias, quantize=kind)
    x = torch.randn(rows, 2, 64)
    matrix = layer.dequantized()
    assert matrix.shape == (48, 64)
    worst = (matrix - weight).abs().max()
    assert (worst < 1e-6) if not kind else (1e-3 < worst < 1)
    torch.testing.assert_close(
        layer(x), torch.nn.functional.linear(x, matrix, bias), atol=1e-4, rtol=1e-4
    )


def test_codes_of_others_are_taken_as_they_are():
    w = torch.randn(64, 24).numpy()
    order = torch.randperm(64).numpy()
    codes = quantize(w, "u4", 32)
    from dataclasses import replace

    for weight in (quantize_mx(w), replace(codes, row_order=order)):
        from dslc.quantize import dequantize

        layer = dslc.nn.Linear.of(weight)
        x = torch.randn(3, 64)
        expected = x @ torch.from_numpy(dequantize(weight))
        torch.testing.assert_close(layer(x), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_other_floats(dtype):
    dtype = getattr(torch, dtype)
    layer = dslc.nn.Linear.of(torch.randn(32, 64).to(dtype), quantize="u4:32")
    x = torch.randn(4, 64).to(dtype)
    expected = (x.float() @ layer.dequantized().float().T).to(dtype)
    torch.testing.assert_close(layer(x), expected, atol=0.1, rtol=2e-2)


@pytest.mark.parametrize("make", ["RMSNorm", "LayerNorm"])
def test_norms_and_their_gradients_are_torchs(make):
    ours = getattr(dslc.nn, make)(40, eps=1e-5)
    theirs = getattr(torch.nn, make)(40, eps=1e-5)
    for p in theirs.parameters():
        torch.nn.init.normal_(p)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(3, 7, 40, requires_grad=True)
    z = x.detach().clone().requires_grad_()
    weight = torch.randn(3, 7, 40)
    (ours(x) * weight).sum().backward()
    (theirs(z) * weight).sum().backward()
    torch.testing.assert_close(ours(x), theirs(z))
    torch.testing.assert_close(x.grad, z.grad, atol=1e-4, rtol=1e-4)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-4)


def test_a_gradient_goes_through_codes():
    layer = dslc.nn.Linear.of(torch.randn(16, 32), quantize="u4:32")
    x = torch.randn(3, 32, requires_grad=True)
    weight = torch.randn(3, 16)
    (layer(x) * weight).sum().backward()
    torch.testing.assert_close(x.grad, weight @ layer.dequantized(), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("activation", ["silu", "gelu_tanh"])
def test_a_gated_mlp(activation):
    gate, up, down = torch.randn(48, 32) / 6, torch.randn(48, 32) / 6, torch.randn(32, 48) / 7
    layer = dslc.nn.GatedMLP(gate, up, down, activation=activation)
    x = torch.randn(2, 3, 32, requires_grad=True)
    inner = x @ gate.T
    act = torch.nn.functional.silu(inner)
    if activation == "gelu_tanh":
        act = torch.nn.functional.gelu(inner, approximate="tanh")
    expected, found = (act * (x @ up.T)) @ down.T, layer(x)
    weight = torch.randn(2, 3, 32)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    (wanted,) = torch.autograd.grad((expected * weight).sum(), x)
    (given,) = torch.autograd.grad((found * weight).sum(), x)
    torch.testing.assert_close(given, wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("window", "cap"), [(0, 0.0), (3, 0.0), (0, 2.0)])
def test_attention_and_its_gradients_are_torchs(window, cap):
    shapes = ((2, 9, 4, 16), (2, 9, 2, 16), (2, 9, 2, 16))
    q, k, v = (torch.randn(s, requires_grad=True) for s in shapes)
    found = dslc.nn.Attention(16, window=window, cap=cap)(q, k, v)
    wide = [t.repeat_interleave(2, 2) for t in (k, v)]
    scores = torch.einsum("blhd,bmhd->bhlm", q, wide[0]) / 4
    if cap:
        scores = cap * torch.tanh(scores / cap)
    at = torch.arange(9)
    seen = at[:, None] >= at
    if window:
        seen &= at > at[:, None] - window
    p = scores.masked_fill(~seen, float("-inf")).softmax(-1)
    expected = torch.einsum("bhlm,bmhd->blhd", p, wide[1])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    weight = torch.randn(2, 9, 4, 16)
    wanted = torch.autograd.grad((expected * weight).sum(), (q, k, v))
    given = torch.autograd.grad((found * weight).sum(), (q, k, v))
    for a, b in zip(given, wanted, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weight = torch.randn(32, 32)
        self.norm = dslc.nn.RMSNorm(32)
        self.linear = dslc.nn.Linear.of(weight, torch.randn(32), quantize="u4:32")
        self.attention = dslc.nn.Attention(16)
        self.mlp = dslc.nn.GatedMLP(weight, weight, weight, quantize="u4:32")

    def forward(self, x):
        heads = self.linear(self.norm(x)).reshape(1, -1, 2, 16)
        return x + self.mlp(self.attention(heads, heads, heads).reshape(x.shape))


def test_torch_compile_takes_a_block_whole():
    block = Block()
    compiled = torch.compile(block, backend="aot_eager", fullgraph=True)
    for rows in (4, 7):
        x = torch.randn(rows, 32)
        torch.testing.assert_close(compiled(x), block(x))
    compiled(x).sum().backward()
    assert block.norm.weight.grad.isfinite().all()


def in_another_process(content, x):
    with torch.no_grad():
        return pickle.loads(content)(x)


def test_copies_states_and_other_processes_have_the_weights():
    block, x = Block(), torch.randn(4, 32)
    expected = block(x)
    file = io.BytesIO()
    torch.save(block, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), expected)
    other = Block()
    assert not torch.equal(other(x), expected)
    other.load_state_dict(block.state_dict())
    assert torch.equal(other(x), expected)
    context = torch.multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        found = pool.apply(in_another_process, (pickle.dumps(block), x))
    assert torch.equal(found, expected)


def test_every_linear_of_a_model_is_swapped():
    model = torch.nn.Sequential(torch.nn.Linear(32, 48), torch.nn.ReLU(), torch.nn.Linear(48, 32))
    x = torch.randn(5, 32)
    expected = model(x)
    assert dslc.nn.swap_linears(model, quantize="i8:16", keep=lambda n: n == "2") == ["0"]
    assert isinstance(model[0], dslc.nn.Linear)
    assert type(model[2]) is torch.nn.Linear
    torch.testing.assert_close(model(x), expected, atol=2e-2, rtol=2e-2)
