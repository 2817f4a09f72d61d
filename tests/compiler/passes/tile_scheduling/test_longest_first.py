"""Which turns begin first."""

import itertools

import pytest
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.expr import Binary, Var, index
from dslc.compiler.passes.tile_scheduling.longest_first import LongestFirst, growth

from support.kernels import one

X, Y = Var("x", INDEX), Var("y", INDEX)


def of(op, x, y):
    return Binary(op, x, y, INDEX)


@pytest.mark.parametrize(
    ("expr", "grows"),
    [
        (X, 1), (Y, 0), (index(3), 0), (of("add", X, Y), 1), (of("sub", Y, X), -1),
        (of("min", Y, of("add", X, index(8))), 1), (of("floordiv", X, index(4)), 1),
        (of("mod", X, index(4)), None), (of("sub", X, of("floordiv", X, index(4))), None),
        (of("mul", X, X), None), (Var("z", INDEX), 1),
    ],
)  # fmt: skip
def test_growth(expr, grows):
    known = {Var("z", INDEX): of("add", X, index(1))}
    assert growth(expr, X, known) == grows


def test_growth_of_scalars_that_are_read_twice_each():
    names = [X, *(Var(f"v{i}", INDEX) for i in range(40))]
    known = {b: of("add", a, of("mul", a, index(2))) for a, b in itertools.pairwise(names)}
    assert growth(names[-1], X, known) == 1


TEXT = """
kernel f(x: f32[M, N], y: out f32[M]):
    for b, m in parallel(range(4), range(0, M, 4)):
        acc = zeros(f32, [4])
        for n in range({bounds}, 4):
            acc += sum(x[m : m + 4, n : n + 4], 1)
        y[m : m + 4] = acc
"""


@pytest.mark.parametrize(
    ("bounds", "reversed_"),
    [("0, m + 4", [False, True]), ("0, N", [False, False]), ("m, N", [False, False]),
     ("m, m + 8", [False, False]), ("0, m + b", [True, True])],
)  # fmt: skip
def test_axes_along_which_loops_grow_are_reversed(bounds, reversed_):
    kernel = LongestFirst()(one(TEXT.format(bounds=bounds)))
    assert [a.reversed for a in kernel.grid] == reversed_
