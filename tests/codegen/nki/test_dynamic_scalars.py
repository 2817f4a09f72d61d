"""Scalars that only the machine knows: handed on by loops and branches, as tiles of one number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.interpreter import run
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.dynamic_values.dynamic_scalars import DynamicScalars

from support.kernels import every, one

BODIES = {
    "a loop": """
    s = 0
    for i in range(0, 4):
        s = s + max(x[0:16], 0)
    y[0:16] = full(i32, [16], s)
""",
    "a branch": """
    s = 1
    if max(x[0:16], 0) > 3:
        s = 2
    y[0:16] = full(i32, [16], s)
""",
    "a while loop": """
    s = max(x[0:16], 0)
    n = 0
    acc = zeros(i32, [16])
    while s > 1:
        s = s // 2
        n = n + 1
        acc = acc + x[0:16]
    y[0:16] = acc + n
""",
    "a loop that is counted there": """
    s = 0
    for m in range(0, 2):
        n = max(x[0:16], 0) - m
        for i in range(0, n):
            if i > 3:
                s = s + i
            else:
                s = s - 1
    y[0:16] = full(i32, [16], s)
""",
    "a number that tracing knows": """
    n = 3
    for i in range(0, 4):
        n = n + i
    y[0:16] = x[0:16] * n
""",
}


def text(body: str) -> str:
    return f"kernel k(x: i32[16], y: out i32[16]):{body}"


def argument() -> Any:
    return np.random.default_rng(3).permutation(16).astype(np.int32)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn3"])
@pytest.mark.parametrize("case", BODIES)
def test_the_machine_has_the_interpreters_numbers(case: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / "dynamic.tile"
    path.write_text(text(BODIES[case]), encoding="utf-8")
    wanted, got = np.zeros(16, np.int32), np.zeros(16, np.int32)
    dslc.compile(path, target="interp", cache=False).k(argument(), wanted)
    dslc.compile(path, target=target, cache=False).k(argument(), got)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("case", BODIES)
def test_the_pass_changes_no_number(case: str) -> None:
    before = one(text(BODIES[case]))
    after = DynamicScalars()(before)
    assert (after is before) == case.startswith("a number")
    verify(after)
    found = []
    for kernel in (before, after):
        args = {"x": argument(), "y": np.zeros(16, np.int32)}
        run(kernel, args)  # type: ignore[arg-type]
        found.append(args["y"])
    np.testing.assert_array_equal(found[0], found[1])


def test_a_number_that_is_known_stays_one_beside_those_of_the_machine() -> None:
    """Of two that a loop hands on, the counter is written out and the sum is a tile."""
    kernel = one(
        text("""
    s = 0
    n = 3
    for i in range(0, 4):
        s = s + max(x[0:16], 0) * n
        n = n + i
    y[0:16] = full(i32, [16], s + n)
""")
    )
    (loop,) = every(DynamicScalars()(kernel), ins.For)
    kinds = {c.inner.name.partition("_")[0]: type(c.inner) for c in loop.carried}
    assert kinds == {"s": Value, "n": Var}
