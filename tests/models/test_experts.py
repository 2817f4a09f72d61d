"""Kernels of mixtures of experts beside NumPy."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.models import read_config
from dslc.models.kernel_sources import KERNELS

from models.test_generation import CONFIG

M, EXPERTS, TOP, K, N = 3, 6, 2, 40, 48
MIXTURE = {
    **CONFIG,
    "model_type": "qwen3_moe",
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
}


@pytest.mark.parametrize("normed", [0, 1])
def test_a_router_takes_the_greatest_and_their_shares(normed: int) -> None:
    kernels = dslc.compile(KERNELS, "interp", define={"NORMED": normed})
    logits = np.random.default_rng(0).standard_normal((M, EXPERTS)).astype(np.float32)
    chosen, share = np.empty((M, TOP), np.int32), np.empty((M, TOP), np.float32)
    kernels.route(logits, chosen, share)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    order = np.argsort(-p, axis=1)[:, :TOP]
    np.testing.assert_array_equal(chosen, order)
    expected = np.take_along_axis(p, order, 1)
    if normed:
        expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(share, expected, atol=1e-6)


def test_rows_go_through_their_own_experts() -> None:
    kernels, rng = dslc.compile(KERNELS, "interp"), np.random.default_rng(1)

    def drawn(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    chosen = np.array([[5, 0], [2, 3], [0, 5]], np.int32)
    a, first, second, c = drawn(M, K), drawn(EXPERTS, K, N), drawn(EXPERTS, N, K), drawn(M, K)
    share = drawn(M, TOP)
    y = np.empty((M * TOP, N), np.float32)
    kernels.experts_in(a, chosen, first.reshape(-1, N), y)
    inside = np.einsum("mk,mikn->min", a, first[chosen])
    np.testing.assert_allclose(y, inside.reshape(-1, N), atol=1e-4)
    expected = c + np.einsum("min,mink,mi->mk", inside, second[chosen], share)
    kernels.experts_out(y, chosen, share, second.reshape(-1, K), c)
    np.testing.assert_allclose(c, expected, atol=1e-3)


def test_a_mixture_says_which_layers_have_experts() -> None:
    config = read_config({**MIXTURE, "num_hidden_layers": 4, "mlp_only_layers": [2]})
    assert [config.has_experts(i) for i in range(4)] == [True, True, False, True]
    for change in ({"num_experts_per_tok": 7}, {"num_experts": None}, {"model_type": "qwen3"}):
        with pytest.raises(DiagnosticError, match="DSL0787"):
            read_config({**MIXTURE, **change})
