"""Kernels as operators of torch, on the interpreter; on a GPU in tests/gpu."""

from __future__ import annotations

import dslc
import pytest
from dslc.compiler.diagnostics import DiagnosticError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOURCE = """
kernel scale(x: f32[N], factor: f32, y: out f32[N]):
    tune BN = 64 | 128

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * factor

kernel double(x: inout f32[N]):
    for n in parallel(range(0, N, 64)):
        x[n : n + 64] = x[n : n + 64] * 2.0
"""


@pytest.fixture(scope="module")
def lib():
    return dslc.compile(SOURCE, "interp", cache=False)


def test_an_operator_runs_by_position_and_by_name(lib):
    op = dslc.torch_op(lib.scale, "scale_plain", BN=128)
    x, y = torch.arange(100.0), torch.empty(100)
    op(x, 3.0, y)
    assert torch.equal(y, x * 3)
    op(y=y, factor=4.0, x=x)
    assert torch.equal(y, x * 4)
    assert torch.ops.dslc.scale_plain.default._schema.arguments[2].alias_info.is_write


def test_compiled_functions_keep_it(lib):
    op = dslc.torch_op(lib.scale, "scale_compiled")

    def function(x):
        y = torch.empty_like(x)
        op(x + 1, 2.0, y)
        return y * 2

    x = torch.arange(100.0)
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), (x + 1) * 4)


def test_what_it_writes_is_seen_by_what_follows(lib):
    op = dslc.torch_op(lib.double, "double_in_place")

    def function(x):
        z = x.clone()
        op(z)
        return z, z + 1

    x = torch.arange(70.0)
    z, after = torch.compile(function, backend="aot_eager", fullgraph=True)(x)
    assert torch.equal(z, x * 2)
    assert torch.equal(after, x * 2 + 1)


def test_torchs_own_checks_of_an_operator_pass(lib):
    dslc.torch_op(lib.scale, "scale_checked")
    torch.library.opcheck(
        torch.ops.dslc.scale_checked.default, (torch.ones(64), 2.0, torch.empty(64))
    )


def test_a_name_is_taken_once(lib):
    dslc.torch_op(lib.scale, "scale_once")
    with pytest.raises(DiagnosticError, match="already") as caught:
        dslc.torch_op(lib.scale, "scale_once")
    assert caught.value.diagnostics[0].code == "DSL0748"
    with pytest.raises(DiagnosticError, match="refuses"):
        dslc.torch_op(lib.scale, "not a name")
