"""Random programs with their barriers: the interpreter, which sees each element, misses none."""

from __future__ import annotations

import pytest
from dslc.compiler.interpreter import Options, run

from support.generated.random_orders import random_order
from support.gpu.orders import ordered
from support.machines import require

_BATCH = 50


def check(seed: int, target: str) -> None:
    """No hazard is found in a program of a target's threads."""
    feature = random_order(seed)
    args = feature.arguments(feature.compile("interp").origin.signature)
    run(ordered(feature, target), args, Options())


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_left_unordered(seed: int) -> None:
    check(seed, ("cuda:sm_90a", "cuda:sm_90a", "hip:gfx942")[seed % 3])


@pytest.mark.deep
@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a", "hip:gfx942"])
@pytest.mark.parametrize("batch", range(40))
def test_nothing_is_left_unordered_in_many(batch: int, target: str) -> None:
    for seed in range(_BATCH * batch, _BATCH * (batch + 1)):
        check(seed, target)


@pytest.mark.deep
@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx950"])
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_machines_keep_the_order(seed: int, target: str) -> None:
    require(target)
    feature = random_order(seed)
    wanted, found = feature.outputs("interp"), feature.outputs(target, seed)
    for name, expected in wanted.items():
        assert (abs(found[name] - expected) <= 1e-3 + 1e-4 * abs(expected)).all(), name
