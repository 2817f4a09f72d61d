"""Kernels as operators of torch on a GPU, inside what torch.compile makes."""

from __future__ import annotations

from typing import Any

import dslc
import pytest

pytestmark = pytest.mark.gpu
SOURCE = """
kernel scale_gpu(x: f32[N], factor: f32, y: out f32[N]):
    for n in parallel(range(0, N, 256)):
        y[n : n + 256] = x[n : n + 256] * factor
"""


@pytest.fixture(scope="module")
def op(torch: Any) -> Any:
    return dslc.torch_op(dslc.compile(SOURCE, "cuda").scale_gpu)


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_compiled_functions_keep_it(torch: Any, op: Any, mode: str | None) -> None:
    def function(x: Any) -> Any:
        y = torch.empty_like(x)
        op(x + 1, 2.0, y)
        return y * 3

    compiled = torch.compile(function, fullgraph=True, mode=mode)
    for n in (4096, 4096, 1000):
        x = torch.randn(n, device="cuda")
        torch.testing.assert_close(compiled(x), (x + 1) * 6)
