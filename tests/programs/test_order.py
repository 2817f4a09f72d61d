"""What a turn's statements do to one tensor happens in their order, on every machine.

Each program of turn_order.tile and each feature of the language is run; `make test` takes a few of them
on the GPUs, whose threads run each at its own pace.
"""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.features import Feature, features
from support.gpu.orders import ORDERS
from support.machines import MACHINES, require

GPUS = ("cuda:sm_90a", "hip:gfx950")
FEATURES = features()
SAMPLE = {
    "cuda:sm_90a": [
        "scalar before its row", "shift within a warp", "gathered permutation in place",
        "fill before scatter", "ping-pong of two tensors", "written in one branch",
        "operands rewritten in a loop", "a copy of what was written", "what stood there",
    ],
    "hip:gfx950": ["scatter read back", "shift within a warp", "ping-pong of two tensors"],
}  # fmt: skip
EVERY = [(target, name) for target in MACHINES for name in (*ORDERS, *FEATURES)]
SOME = [
    *((target, name) for target in GPUS for name in SAMPLE[target]),
    *(("cuda:sm_90a", name) for name in [*FEATURES][::15]),
    *((target, "read after write") for target in GPUS),
]


def run(target: str, feature: Feature, seed: int = 1) -> None:
    """What the interpreter gives; a machine may refuse a program, by a code."""
    require(target)
    wanted = feature.outputs("interp")
    try:
        found = feature.outputs(target, seed)
    except DiagnosticError as failure:
        refused = failure.diagnostics[0].code
    else:
        for name, expected in wanted.items():
            pair = found[name].astype(np.float64), expected.astype(np.float64)
            np.testing.assert_allclose(*pair, rtol=4e-3, atol=4e-3, err_msg=name)
        return
    assert refused.startswith("DSL05")
    assert target not in GPUS or feature in (FEATURES["print"], FEATURES["atomic max f16"])
    pytest.skip(f"refused: {refused}")


def feature_of(name: str) -> Feature:
    return ORDERS[name] if name in ORDERS else FEATURES[name]


@pytest.mark.parametrize(("target", "name"), SOME)
def test_some_programs_mean_what_they_say(target: str, name: str) -> None:
    run(target, feature_of(name))


@pytest.mark.deep
@pytest.mark.parametrize(("target", "name"), EVERY)
def test_every_program_means_what_it_says(target: str, name: str) -> None:
    run(target, feature_of(name))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("name", ORDERS)
def test_no_order_of_threads_matters(name: str, seed: int) -> None:
    run("cuda:sm_90a", ORDERS[name], seed)
