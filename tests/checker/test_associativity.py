"""Functions over an axis are tried on samples when a source is checked."""

from __future__ import annotations

import pytest
from dslc.checker.source import check_template

from support.kernels import check

FUNCTIONS = """
def welford(a, b):
    n = a[2] + b[2]
    d = b[0] - a[0]
    return [a[0] + d * b[2] / n, a[1] + b[1] + d * d * a[2] * b[2] / n, n]

def online(a, b):
    m = maximum(a[0], b[0])
    return [m, a[1] * exp(a[0] - m) + b[1] * exp(b[0] - m)]

def segmented(a, b):
    return [where(b[1] > 0, b[0], a[0] + b[0]), maximum(a[1], b[1])]

def best(a, b):
    return [where(b[0] > a[0], b[0], a[0]), where(b[0] > a[0], b[1], a[1])]

def last(a, b):
    return b

def distance(a, b):
    return abs(a - b)

def mean(a, b):
    return (a + b) / 2

def swapped(a, b):
    return [a[0] * b[0], b[1] * a[0] + a[1] * a[0]]

def differ(a, b):
    return a == b

"""


def warnings(call: str, dtype: str = "f32") -> list[str]:
    text = (
        f"{FUNCTIONS}kernel k(x: {dtype}[M, 48], y: out f32[M]):\n"
        "    for m in parallel(range(0, M, 4)):\n"
        f"        t = x[m : m + 4, :]\n        r = {call}\n        y[m : m + 4] = 0.0\n"
    )
    findings = check_template(check(text).templates["k"])
    assert {d.code for d in findings} <= {"DSL0237"}
    return [d.message for d in findings]


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        ("reduce(welford, [t, t, t], 1)", "f32"),
        ("scan(online, [t, t], 1)", "f32"),
        ("reduce(online, [t, t], 1)", "f16"),
        ("scan(segmented, [t, cast(t, i32)], 1)", "f32"),
        ("reduce(best, [t, t], 1)", "bf16"),
        ("reduce(last, t, 1)", "i8"),
        ("scan(maximum, t, 1)", "u8"),
        ("reduce(differ, t > 1, 1)", "f32"),
    ],
)
def test_associative_functions_are_left_alone(call, dtype):
    assert not warnings(call, dtype)


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        ("reduce(distance, t, 1)", "i32"),
        ("scan(mean, t, 1)", "f32"),
        ("scan(mean, t, 1, reverse=True)", "f16"),
        ("scan(swapped, [t, t], 1)", "f32"),
    ],
)
def test_others_are_told_with_a_counterexample(call, dtype):
    (message,) = warnings(call, dtype)
    assert "is not associative" in message
    assert " for a = " in message


def test_the_counterexample_is_one():
    (message,) = warnings("reduce(distance, t, 1)", "i32")
    assert message == (
        "distance is not associative: distance(distance(a, b), c) is 1 and "
        "distance(a, distance(b, c)) is 3 for a = 4, b = 2, c = 1"
    )
