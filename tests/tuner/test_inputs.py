"""The arguments that a measurement draws."""

from __future__ import annotations

import dslc
import numpy as np
from dslc.compiler.artifact import Param
from dslc.tuner.inputs import Inputs

SOURCE = """
kernel gather(x: f16[N, H], codes: i8[M], at: i32[M], y: out f16[M, H]):
    for m in parallel(range(M)):
        assert at[m] < N, "past the end"
        y[m, :] = x[at[m], :]
"""


def test_positions_are_zero_and_the_rest_random() -> None:
    kernel = dslc.compile(SOURCE, "interp").gather
    inputs = Inputs(kernel.parameters, {"N": 4, "H": 64, "M": 50})
    assert not inputs.array(Param("at", "i32", "in", ("M",))).any()
    codes = inputs.array(Param("codes", "i8", "in", ("M",)))
    assert len(np.unique(codes)) > 20
    x = inputs.array(Param("x", "f16", "in", ("N", "H")))
    assert 0.1 < x.astype(np.float64).std() < 0.4
