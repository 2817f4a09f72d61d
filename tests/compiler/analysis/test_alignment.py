"""Divisors of index expressions: what is claimed holds for every value of the variables."""

from dslc.compiler.analysis.alignment import divisor, known_divisors
from dslc.compiler.dtypes import F32, I32, INDEX
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.text.parser import parse_program
from hypothesis import given
from hypothesis import strategies as st

from support.kernels import one

X, Y = ex.Var("x", INDEX), ex.Var("y", INDEX)
OPS = ["add", "sub", "mul", "min", "max", "mod", "floordiv", "shl"]


@st.composite
def expressions(draw, depth=3):
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([X, Y, *(ex.index(n) for n in (0, 1, 2, 3, 8, 12, -4))]))
    op = draw(st.sampled_from(OPS))
    x = draw(expressions(depth - 1))
    if op in ("mod", "floordiv", "shl"):
        return ex.Binary(op, x, ex.index(draw(st.sampled_from([1, 2, 4, 6]))), INDEX)
    return ex.Binary(op, x, draw(expressions(depth - 1)), INDEX)


@given(expressions(), st.integers(-5, 5), st.integers(-5, 5))
def test_a_divisor_divides(expr, i, j):
    d = divisor(expr, {X: 12, Y: 8})
    value = evaluate(expr, {"x": 12 * i, "y": 8 * j})
    assert value % d == 0 if d else value == 0


def test_known_divisors():
    kernel = one(
        """
kernel k(x: f32[M, K], y: out f32[M, K]):
    const G = 128
    require K % G == 0 and M % 6 == 0
    for m in parallel(range(0, M, 16)):
        for k in range(K // 2, K, 32):
            n = 2 * k + 64
            for j in range(n, K, 48):
                y[m : m + 16, j : j + 8] = x[m : m + 16, n : n + 8]
"""
    )
    known = {v.name: d for v, d in known_divisors(kernel).items()}
    assert known["K"] == 128
    assert known["M"] == 6
    assert known["m"] == 16
    assert known["k"] == 32
    assert known["j"] == 16


def test_what_may_wrap_has_no_divisor():
    x = ex.Var("i", I32)
    product = ex.Binary("mul", x, ex.Const(12, I32), I32)
    assert divisor(product, {}) == 1
    assert divisor(ex.Convert(product, INDEX), {}) == 1
    assert divisor(ex.Select(ex.TRUE, ex.index(8), ex.index(12), INDEX), {}) == 4


def test_a_scalar_that_is_infinite_divides_nothing():
    kernel = parse_program(
        """\
kernel k[N](@y: out f32[16]) {
  let top : f32 = f32(-inf)
  %z = full top : f32[16]
  store @y[0 : +16], %z
}
"""
    )
    assert known_divisors(kernel) == {ex.Var("top", F32): 1}
