"""Stores to `packed row` tensors: bits in order, or a located error."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import MACHINES, call
from support.oracle.arguments import packed

SOURCE = """
kernel k(x: i8[M], y: out {d}[M] packed row):
    for m in parallel(range(0, M, 8)):
        y[m : m + 8] = cast(x[m : m + 8], {d})
"""


@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_as_many_bytes_as_codes(target: str) -> None:
    """Two codes of 7 bits take two bytes: where the source says `packed row` they are bytes."""
    y = np.zeros(2, np.uint8)
    call(target, "kernel k(y: out u7[2] packed row):\n    y[0:2] = full(u7, [2], 1)\n", {"y": y})
    assert y.tolist() == [0x81, 0]


@pytest.mark.parametrize("bits", [1, 3, 4, 7])
@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_bits_lie_one_after_another(target: str, bits: int) -> None:
    x = np.random.default_rng(bits).integers(0, 1 << bits, 24, np.int8)
    wanted = packed(x.astype(np.uint64), bits)
    y = np.zeros_like(wanted)
    try:
        call(target, SOURCE.format(d=f"u{bits}"), {"x": x, "y": y})
    except DiagnosticError as refused:
        assert refused.diagnostics[0].code == "DSL0590"  # noqa: PT017 - a machine may have none
    else:
        np.testing.assert_array_equal(y, wanted)
