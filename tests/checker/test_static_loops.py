"""Loops that the compiler runs, and the lists that they make."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.checker.source import check_source
from dslc.compiler.diagnostics import Severity
from dslc.compiler.ir import instructions as ins

from support.kernels import every, statements

HEAD = """
kernel f(x: f32[M, 64], n: i32, y: out f32[M, 64]):
    for m in parallel(range(0, M, 16)):
"""


def errors(body: str) -> list[str]:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    found = check_source(HEAD + lines, "f.tile")
    return [f"{d.code} {d.message}" for d in found if d.severity is Severity.ERROR]


def test_a_body_stands_once_for_each_item() -> None:
    kernel = statements("""
a = x[0:16, 0:16]
for i in static(range(3)):
    a = a + cast(i, f16)
y[0:16, 0:16] = a""")
    assert not every(kernel, ins.For)
    assert len(every(kernel, ins.Binary)) == 3
    assert len(every(kernel, ins.Store)) == 1


def ran(body: str, x: np.ndarray, n: int = 3) -> np.ndarray:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    y = np.zeros_like(x)
    dslc.compile(HEAD + lines, "interp", cache=False).f(x, n, y)
    return y


X = np.random.default_rng(0).standard_normal((20, 64)).astype(np.float32)


def test_lists_are_carried_by_loops_of_the_machine_and_joined_by_branches() -> None:
    found = ran(
        """
acc = [zeros(f32, [16, 16])] * 4
for r in range(n):
    for i in static(range(4)):
        acc[i] += x[m : m + 16, 16 * i : 16 * i + 16] * (r + 1)
    if r == 1:
        acc[-1] = acc[-1] + 100
for i, a in enumerate(acc):
    y[m : m + 16, 16 * i : 16 * i + 16] = a""",
        X,
    )
    expected = X * 6
    expected[:, 48:] = X[:, 48:] * 6 + 100
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


def test_lists_of_lists_and_of_scalars() -> None:
    found = ran(
        """
t = [[0.0, 1.0], [2.0, 3.0]]
for r in range(n):
    t[1][0] += 10.0
    t[0] = [t[0][1], t[0][0]]
for i in static(range(4)):
    y[m : m + 16, 16 * i : 16 * i + 16] = full(f32, [16, 16], t[i // 2][i % 2])""",
        X,
    )
    np.testing.assert_array_equal(found[0, ::16], [1, 0, 32, 3])


def test_zip_goes_over_several_lists_at_once_and_counters_index_tiles() -> None:
    found = ran(
        """
t = x[m : m + 16, :]
parts = []
for i, scale in zip(static(range(0, 64, 16)), [1.0, 2.0] + [3.0, 4.0]):
    parts = parts + [t[:, i : i + 16] * scale]
y[m : m + 16, :] = concat(parts, 1)""",
        X,
    )
    np.testing.assert_array_equal(found, X * np.repeat([1, 2, 3, 4], 16).astype(np.float32))


def test_a_while_loop_carries_a_list() -> None:
    found = ran(
        """
s = [0, n]
while s[1] > 0:
    s[0] += s[1]
    s[1] -= 1
y[m : m + 16, :] = full(f32, [16, 64], cast(s[0], f32))""",
        X,
        4,
    )
    assert (found == 10).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i in static(range(n)):\n    pass", "must be known at compile time"),
        ("for i in static(range(0, 4, 0)):\n    pass", "the step of a range is not 0"),
        ("for i in static(range(100000)):\n    pass", "at most 4096 items"),
        ("for i in static(x):\n    pass", "a list or a range(...) is wanted, not the tensor x"),
        ("for i in static():\n    pass", "static takes one argument, not 0"),
        ("for a, b in zip([1, 2], [3]):\n    pass", "lists of one length, not of 2 and 1"),
        ("for a, b in [1, 2]:\n    pass", "2 names are given the number 1"),
        ("for a in 3:\n    pass", "a for loop goes over"),
        ("for a in x:\n    pass", "a for loop cannot go over the tensor x"),
        ("a = [1, 2]\na[2] = 3", "subscript 2 is outside a list of 2"),
        ("a = [1, 2]\na[n] = 3", "must be known at compile time"),
        ("a = [1, 2]\nfor r in range(n):\n    a = [1, 2, 3]\ny[0, 0] = a[0]", "a list of 3"),
        ("for i in static(range(2)):\n    y[0, 0] = q", "the name q is not known here"),
        ("a = [0] * 5000", "a list has at most 4096 items"),
        ("for i in static(range(4)):\n    pass\ny[0, 0] = i", "has no value after it"),
        ("for i in statics(range(4)):\n    pass", "a for loop goes over"),
    ],
)
def test_what_is_wrong_is_said_once(body: str, message: str) -> None:
    found = errors(body)
    assert len(found) == 1, found
    assert message in found[0]


def test_static_loops_count_against_the_budget_of_statements() -> None:
    nest = "".join(f"{'    ' * i}for i{i} in static(range(30)):\n" for i in range(3))
    assert any("DSL0232" in e for e in errors(f"{nest}            y[0, 0] = 1.0"))
