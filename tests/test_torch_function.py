"""Kernels as functions of torch that return tensors: shapes, torch.compile, gradients."""

from __future__ import annotations

import dslc
import pytest
from dslc.compiler.diagnostics import DiagnosticError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOURCE = """
kernel square(x: f64[M, N], y: out f64[M, N]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4, :] = x[m : m + 4, :] * x[m : m + 4, :]


kernel halves(x: f32[M, N], factor: f32, a: out f32[M, N // 2], b: out f16[M]):
    for m in parallel(range(0, M, 4)):
        t = x[m : m + 4, :]
        a[m : m + 4, :] = t[:, 0 : N // 2] * factor
        b[m : m + 4] = cast(sum(t, 1), f16)


kernel double(x: inout f32[N]):
    for n in parallel(range(0, N, 64)):
        x[n : n + 64] = x[n : n + 64] * 2.0


kernel filled(y: out f32[N]):
    for n in parallel(range(0, N, 64)):
        y[n : n + 64] = zeros(f32, [64])
"""


@pytest.fixture(scope="module")
def lib():
    return dslc.compile(SOURCE, "interp", cache=False)


def test_outputs_are_new_tensors_of_the_shapes_that_inputs_tell(lib):
    op = dslc.torch_op(lib.halves, "halves_new", functional=True)
    x = torch.randn(5, 8)
    a, b = op(x, 3.0)
    torch.testing.assert_close(a, x[:, :4] * 3)
    torch.testing.assert_close(b, x.sum(1).half())
    torch.testing.assert_close(op(factor=3.0, x=x)[0], a)
    torch.library.opcheck(torch.ops.dslc.halves_new.default, (x, 3.0))


def test_compiled_functions_keep_it_for_any_number_of_rows(lib):
    op = dslc.torch_op(lib.halves, "halves_compiled", functional=True)
    compiled = torch.compile(
        lambda x: op(x + 1, 2.0)[0] * 2, backend="aot_eager", fullgraph=True, dynamic=True
    )
    for rows in (3, 7):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(compiled(x), (x + 1)[:, :4] * 4)


def test_a_gradient_may_be_given(lib):
    def backward(inputs, outputs, gradient):
        (x,) = inputs
        assert outputs[0].shape == x.shape
        return 2 * x * gradient

    op = dslc.torch_op(lib.square, "square_trained", functional=True, backward=backward)
    x = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(op, (x,))
    compiled = torch.compile(lambda x: op(x).sum(), backend="aot_eager", fullgraph=True)
    compiled(x).backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


@pytest.mark.parametrize("name", ["double", "filled"])
def test_kernels_that_are_no_functions_are_refused(lib, name):
    with pytest.raises(DiagnosticError, match="DSL0748"):
        dslc.torch_op(lib[name], f"{name}_function", functional=True)


def test_a_gradient_belongs_to_a_functional_operator(lib):
    with pytest.raises(DiagnosticError, match="DSL0748"):
        dslc.torch_op(lib.square, "square_in_place", backward=lambda *x: None)
