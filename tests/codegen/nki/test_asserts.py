"""Assertions of numbers that only the machine knows: marked there, told after the run."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

TEXT = """
kernel k(x: f32[M, N], limits: i32[1], y: out f32[M, N]):
    for m in parallel(range(0, M, 16)):
        t = x[m : m + 16, 0 : 32]
        top = max(max(t, 1), 0)
        assert top < 50.0, "too large"
        if top > 4.0:
            assert top < 6.0, "in a branch"
        count = max(limits[0:1], 0)
        for i in range(0, count):
            assert i < 3, "in a loop"
            t = t * 2.0
        y[m : m + 16, 0 : 32] = t

program twice(x: f32[M, N], limits: i32[1], y: out f32[M, N], z: out f32[M, N]):
    k(x, limits, y)
    k(y, limits, z)
"""


@pytest.fixture(scope="module", params=["interp", "nki:trn1", "nki:trn2"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("asserts") / "asserts.tile"
    path.write_text(TEXT, encoding="utf-8")
    return dslc.compile(path, request.param, cache=False)


@pytest.mark.parametrize(
    ("top", "turns", "told"),
    [(1.0, 3, None), (50.0, 1, "too large"), (6.5, 0, "in a branch"), (1.0, 4, "in a loop")],
)
def test_what_does_not_hold_is_told(library: Any, top: float, turns: int, told: str | None) -> None:
    x, y = np.ones((40, 32), np.float32), np.zeros((40, 32), np.float32)
    x[35, 7] = top  # in the last turn
    limits = np.array([turns], np.int32)
    if told is None:
        library.k(x, limits, y)
        np.testing.assert_array_equal(y, x * 2**turns)
        return
    with pytest.raises(DiagnosticError, match=f"DSL0608.*does not hold.*: {told}(\\n|$)"):
        library.k(x, limits, y)


def test_each_call_of_a_program_has_marks_of_its_own(library: Any) -> None:
    x, limits = np.full((16, 32), 2.0, np.float32), np.array([1], np.int32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    library.twice(x, limits, y, z)
    np.testing.assert_array_equal(z, x * 4)
    with pytest.raises(DiagnosticError, match="in a branch"):  # y is 7
        library.twice(x * 1.75, limits, y, z)
