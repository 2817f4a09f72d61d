"""Random index expressions over variables a, b, c, and their value: the oracle of the simplifier."""

from __future__ import annotations

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir.expr import Binary, Const, Expr, Select, Unary, Var, index
from hypothesis import strategies as st

VARIABLES = tuple(Var(n, INDEX) for n in "abc")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")

leaves = st.one_of(st.sampled_from(VARIABLES), st.integers(-9, 20).map(index))
divisors = st.sampled_from([1, 2, 3, 4, 6, 8, 16, -1, -4]).map(index)


def _larger(inside: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    def node(op: str, x: Expr, y: Expr) -> Expr:
        return Binary(op, x, y, INDEX)

    arithmetic = st.sampled_from(["add", "sub", "mul", "min", "max", "floordiv", "mod"])
    conditions = st.builds(
        lambda op, x, y: Binary(op, x, y, BOOL), st.sampled_from(COMPARE), inside, inside
    )
    return st.one_of(
        st.builds(node, arithmetic, inside, inside),
        st.builds(node, st.sampled_from(["floordiv", "mod"]), inside, divisors),
        st.builds(node, st.sampled_from(["shl", "shr"]), inside, st.integers(0, 4).map(index)),
        st.builds(node, st.just("and"), inside, st.sampled_from([1, 3, 7, 15]).map(index)),
        st.builds(lambda x: Unary("neg", x, INDEX), inside),
        st.builds(lambda c, x, y: Select(c, x, y, INDEX), conditions, inside, inside),
    )


index_expressions = st.recursive(leaves, _larger, max_leaves=12)
conditions = st.builds(
    lambda op, x, y: Binary(op, x, y, BOOL),
    st.sampled_from(COMPARE),
    index_expressions,
    index_expressions,
)
environments = st.fixed_dictionaries({v: st.integers(-40, 40) for v in VARIABLES})


def evaluate(expr: Expr, env: dict[Var, int]) -> int:
    """The value by Python's integers; ZeroDivisionError where the language leaves it open."""
    match expr:
        case Const(value):
            return value
        case Var():
            return env[expr]
        case Unary("neg", x):
            return -evaluate(x, env)
        case Unary("not", x):
            return not evaluate(x, env)
        case Select(condition, x, y):
            a, b = evaluate(x, env), evaluate(y, env)
            return a if evaluate(condition, env) else b
        case Binary(op, x, y):
            return _BINARY[op](evaluate(x, env), evaluate(y, env))
    raise AssertionError(expr)


_BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "min": min,
    "max": max,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "shl": lambda x, y: x << y,
    "shr": lambda x, y: x >> y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
