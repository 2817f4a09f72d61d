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


def test_a_given_matrix_lies_as_its_strides_say() -> None:
    source = """
kernel copy(x: f32[M, N] strides (S, 1), y: out f32[M, N]):
    for m in parallel(range(M)):
        y[m, :] = x[m, :]
"""
    kernel = dslc.compile(source, "interp").copy
    given = np.arange(12, dtype=np.float32).reshape(3, 4)
    inputs = Inputs(kernel.parameters, {"M": 3, "N": 4, "S": 6}, {"x": given})
    flat = inputs.array(Param("x", "f32", "in", ("M", "N"), strides=("S", "1")))
    assert flat.tolist() == [0, 1, 2, 3, 0, 0, 4, 5, 6, 7, 0, 0, 8, 9, 10, 11]
