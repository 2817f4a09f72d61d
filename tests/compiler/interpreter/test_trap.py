"""`trap`: the operation that made the first NaN or infinity which is stored."""

from __future__ import annotations

import re

import dslc
import numpy as np
import pytest

SOURCE = """
kernel logs(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        z = x[n : n + 8] * 2.0
        w = log(z)
        y[n : n + 8] = w + 1.0


kernel means(x: f32[M, N], y: out f32[M]):
    for m in parallel(range(M)):
        total = zeros(f32, [1])
        count = zeros(f32, [1])
        for n in range(0, N, 8):
            block = x[m : m + 1, n : n + 8]
            total += sum(block, 1)
            count += sum(cast(block > 0.0, f32), 1)
        y[m : m + 1] = total / count


kernel chosen(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        z = x[n : n + 8]
        y[n : n + 8] = where(z > 0.0, log(z), 0.0)


kernel lanes(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        z = x[n : n + 8]
        y[n : n + 8] = z / z


kernel buffered(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        b = buffer(f32, [8])
        b[0:8] = sqrt(x[n : n + 8])
        y[n : n + 8] = b[0:8] * 2.0


kernel greatest(x: f32[N], y: out f32[1]):
    for i in parallel(range(1)):
        top = full(f32, [1], -inf)
        for n in range(0, N, 8):
            top = maximum(top, max(x[n : n + 8], 0))
        y[i : i + 1] = exp(top)


program both(x: f32[N], y: out f32[N]):
    t = buffer(f32, [N])
    logs(x, t)
    logs(t, y)
"""


@pytest.fixture(scope="module")
def lib() -> dslc.Library:
    return dslc.compile(SOURCE, "interp")


def trapped(kernel, *args, trap="nan") -> tuple[str, int, list[int]]:
    with dslc.options(trap=trap), pytest.raises(dslc.DiagnosticError) as caught:
        kernel(*args)
    (found,) = caught.value.diagnostics
    assert found.code == "DSL0614"
    assert found.loc is not None
    return found.message, found.loc.line, [label.loc.line for label in found.labels]


def numbers(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def line_of(text: str) -> int:
    return next(i for i, row in enumerate(SOURCE.split("\n"), 1) if text in row)


def test_the_operation_the_operands_the_turn_and_both_places(lib):
    x = np.ones(20, np.float32)
    x[10] = -3
    message, line, stored = trapped(lib.logs, x, np.empty(20, np.float32))
    assert re.match(
        r"y\[10\] becomes NaN in turn n=8: log\(-6\), element \[2\] of the tile", message
    )
    assert line == line_of("w = log(z)")
    assert stored == [line_of("= w + 1.0")]


def test_through_loops_and_sums(lib):
    x = np.ones((3, 16), np.float32)
    x[1] = 0
    message, line, _ = trapped(lib.means, x, np.empty(3, np.float32))
    assert "y[1] becomes NaN in turn m=1: div(0, 0)" in message
    assert line == line_of("total / count")


def test_a_nan_of_the_caller(lib):
    x = numbers(1, np.nan, 3)
    message, line, _ = trapped(lib.logs, x, np.empty(3, np.float32))
    assert "it stood in x" in message
    assert line == line_of("z = x[n : n + 8] * 2.0")


def test_through_a_buffer(lib):
    message, line, _ = trapped(lib.buffered, numbers(4, -1), np.empty(2, np.float32))
    assert "y[1] becomes NaN" in message
    assert "sqrt(-1)" in message
    assert line == line_of("= sqrt(")


def test_what_is_not_stored_is_no_finding(lib):
    y = np.empty(3, np.float32)
    with dslc.options(trap="nan"):
        lib.chosen(numbers(1, -1, 0), y)
        lib.lanes(numbers(1, 2, 3), y)
    assert y.tolist() == [1, 1, 1]


def test_infinities(lib):
    y = np.empty(1, np.float32)
    with dslc.options(trap="nan"):
        lib.greatest(numbers(100, 2), y)
    assert np.isinf(y[0])
    message, line, _ = trapped(lib.greatest, numbers(100, 2), y, trap="inf")
    assert "y[0] becomes infinite" in message
    assert "exp(100)" in message
    assert line == line_of("exp(top)")


def test_between_the_kernels_of_a_program(lib):
    message, _, _ = trapped(lib.both, numbers(0.1, 0.2), np.empty(2, np.float32))
    assert message.startswith("y[0] becomes NaN")


def test_it_changes_no_number(lib):
    x = np.random.default_rng(0).random(37, np.float32) + 1
    plain, looked = np.empty_like(x), np.empty_like(x)
    lib.logs(x, plain)
    with dslc.options(trap="inf"):
        lib.logs(x, looked)
    np.testing.assert_array_equal(plain, looked)
