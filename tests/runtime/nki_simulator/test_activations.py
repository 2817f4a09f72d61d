"""Activation functions beside each other: approximations are near, slopes are slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dslc.runtime.nki_simulator import NkiFault
from dslc.runtime.nki_simulator.engines.operators import OPERATORS

from support.nki.kernels import compute, tile

X = np.linspace(-6, 6, 241, dtype=np.float32)


def act(name: str) -> Callable[[Any], Any]:
    found = OPERATORS[name].act
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "of", "apart"), [
    ("gelu_apprx_tanh", "gelu", 1e-3), ("gelu_apprx_sigmoid", "gelu", 2.1e-2),
])  # fmt: skip
def test_an_approximation_is_near(name: str, of: str, apart: float) -> None:
    found = np.abs(act(name)(X) - act(of)(X)).max()
    assert 0 < found < apart


@pytest.mark.parametrize("name", ["gelu", "silu", "erf"])
def test_a_slope_is_the_difference_of_neighbours(name: str) -> None:
    step = np.float32(1 / 64)
    rise = (act(name)(X + step) - act(name)(X - step)) / (2 * step)
    np.testing.assert_allclose(act(f"{name}_dx")(X), rise, atol=2e-3)


def test_functions_of_each_other() -> None:
    sigmoid = act("sigmoid")(X)
    np.testing.assert_allclose(act("silu")(X), X * sigmoid, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sigmoid, 1 - act("sigmoid")(-X), atol=1e-6)
    np.testing.assert_allclose(act("softplus")(X) - act("softplus")(-X), X, atol=1e-5)
    np.testing.assert_allclose(
        act("mish")(X), X * np.tanh(act("softplus")(X)), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("call", ["op=nl.sin, data=tx, scale=2.0", "op=nl.reciprocal, data=tx"])
def test_what_an_activation_function_has_no_result_for_is_refused(call: str) -> None:
    """The sine is that of a half turn in either direction, a reciprocal that of no 0."""
    x = np.array([[0, 1], [1, 2]], np.float32)
    with pytest.raises(NkiFault, match=r"is not in .*\[") as fault:
        compute(f"out = {tile((2, 2))}\nnisa.activation(dst=out, {call})", x)
    assert fault.value.rule == "range"
