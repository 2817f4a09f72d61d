"""Facts against enumeration: what is decided and simplified holds for every fitting number."""

from __future__ import annotations

import itertools

import pytest
from dslc.compiler.analysis.scalar_facts import Facts
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, mod, mul
from dslc.compiler.ir.expr import Binary, Const, Expr, Var, index, substitute
from hypothesis import given, settings
from hypothesis import strategies as st

M, TURN = Var("M", INDEX), Var("i", INDEX)
NUMBERS = range(-40, 120)
MODULI = (2, 3, 4, 6, 8, 16)


def remainder(factor: int, shift: int, modulus: int) -> Expr:
    """`(factor * M + shift) % modulus`."""
    return mod(add(mul(M, factor), shift), modulus)


def compare(op: str, x: Expr, y: int | Expr) -> Expr:
    return Binary(op, x, index(y) if isinstance(y, int) else y, BOOL)


def value(expr: Expr, m: int) -> float | int | bool:
    found = constant(simplify(substitute(expr, {M: index(m)})))
    assert found is not None
    return found


def assert_sound(facts: Facts, known: list[Expr], asked: list[Expr]) -> None:
    """Whatever the facts decide or simplify is so for all numbers that fulfil what is known."""
    fitting = [m for m in NUMBERS if all(value(e, m) for e in known)]
    for expr in asked:
        if expr.dtype == BOOL:
            decided = facts.decide(expr)
            assert decided is None or {bool(value(expr, m)) for m in fitting} <= {decided}, expr
        simpler = facts.simplify(expr)
        assert all(value(expr, m) == value(simpler, m) for m in fitting), (expr, simpler)


congruences = st.tuples(
    st.integers(-6, 6).filter(bool),
    st.integers(-20, 20),
    st.sampled_from(MODULI),
    st.integers(0, 5),
)
bounds = st.tuples(st.sampled_from(("ge", "gt", "le", "lt", "eq", "ne")), st.integers(-9, 30))


@given(st.lists(congruences, max_size=3), st.lists(bounds, max_size=3), congruences, bounds)
@settings(max_examples=80)
def test_what_is_concluded_holds(given_, limits, question, limit) -> None:
    known = [compare("eq", remainder(a, c, m), r % m) for a, c, m, r in given_]
    known += [compare(op, M, n) for op, n in limits]
    facts = Facts()
    for condition in known:
        facts.assume(condition)
    a, c, m, r = question
    op, n = limit
    asked = [remainder(a, c, m), compare(op, remainder(a, c, m), r), compare(op, M, n)]
    asked += [Binary(two, M, index(n), INDEX) for two in ("min", "max")]
    asked.append(Binary("floordiv", add(M, c), index(m), INDEX))
    assert_sound(facts, known, asked)


@pytest.mark.parametrize("factor", [1, 3])
@pytest.mark.parametrize("shift", range(-3, 12))
def test_a_remainder_that_is_known_is_a_number(factor: int, shift: int) -> None:
    """`(3 * M + 5) % 8 == 2` says what every multiple of M leaves modulo 8 and its divisors."""
    facts = Facts()
    facts.assume(compare("eq", remainder(factor, shift, 8), 2))
    left = next(m for m in range(8) if (factor * m + shift) % 8 == 2)
    for a, c, modulus in itertools.product((1, 2, 5), (0, 3, 9), (2, 4, 8)):
        assert facts.simplify(remainder(a, c, modulus)) == index((a * left + c) % modulus)
    assert not isinstance(facts.simplify(remainder(1, 0, 16)), Const)


@pytest.mark.parametrize("step", [1, 3, 8, -1, -4])
def test_a_loop_s_variable_lies_in_its_range(step: int) -> None:
    start, stop = (2, 27) if step > 0 else (27, 2)
    values = range(start, stop, step)
    facts = Facts()
    facts.assume_range(TURN, index(start), index(stop), index(step))
    for n in range(-2, 31):
        for op, holds in (("lt", int.__lt__), ("ge", int.__ge__), ("eq", int.__eq__)):
            every = {holds(i, n) for i in values}
            decided = facts.decide(compare(op, TURN, n))
            assert decided is None or every == {decided}, (op, n)
    low, high = min(values), max(values)
    assert facts.decide(compare("ge", TURN, low)) is True
    assert facts.decide(compare("le", TURN, high)) is True
    assert facts.simplify(mod(TURN, abs(step))) == index(start % abs(step))
