"""Linear forms and simplification of scalar expressions."""

import pytest
from dslc.compiler.dtypes import BOOL, F32, I32, INDEX, U8, parse_dtype
from dslc.compiler.ir.arithmetic.affine import constant, difference, linear, simplify, to_expr
from dslc.compiler.ir.expr import Binary, Const, Convert, Select, Unary, Var, index
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_expr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from index_expressions import conditions, environments, evaluate, index_expressions

LOOSE = settings(max_examples=300)


def read(text, names="a b c d K M N"):
    """An expression from its text; variables are indices, x and y are f32, i and j are i32, p bool."""
    params = "@t: in f32[1], x: f32, y: f32, i: i32, j: i32, p: bool, q: bool"
    source = f"kernel f[{', '.join(names.split())}]({params}) {{\n  {{}}\n}}\n"
    for dtype in ("index", "bool", "f32", "i32", "u8"):
        kernel = parse_program(source.replace("{}", f"let r: {dtype} = {text}"))
        if kernel.body[0].value.dtype == kernel.body[0].var.dtype:
            return kernel.body[0].value
    raise AssertionError(text)


@given(index_expressions, environments)
@LOOSE
def test_simplify_keeps_the_value(expr, env):
    try:
        value = evaluate(expr, env)
    except ZeroDivisionError:
        assume(False)
    try:
        assert evaluate(simplify(expr), env) == value
    except ZeroDivisionError:
        pytest.fail("a division by zero came in")


@given(conditions, environments)
@LOOSE
def test_simplify_keeps_conditions(expr, env):
    try:
        value = evaluate(expr, env)
    except ZeroDivisionError:
        assume(False)
    assert evaluate(simplify(expr), env) == value


@given(index_expressions)
@LOOSE
def test_simplify_is_idempotent(expr):
    once = simplify(expr)
    assert simplify(once) == once
    assert simplify(once) is once


@given(index_expressions, index_expressions)
@LOOSE
def test_sums_commute(x, y):
    left, right = Binary("add", x, y, INDEX), Binary("add", y, x, INDEX)
    assert print_expr(simplify(left)) == print_expr(simplify(right))


@given(index_expressions, index_expressions)
@LOOSE
def test_a_difference_is_what_was_added(x, y):
    assert difference(Binary("add", x, y, INDEX), Binary("add", y, x, INDEX)) == 0
    assert difference(Binary("add", x, index(7), INDEX), x) == 7


@given(index_expressions)
@LOOSE
def test_a_form_is_the_expression_read_back(expr):
    form = linear(expr)
    assert linear(to_expr(form)) == form


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(a + 128) // 128 * 128 - a", "a // 128 * 128 + 128 - a"),
        ("(a * 128 + 5) // 128", "a"),
        ("(a * 128 + b) // 128", "a + b // 128"),
        ("(a * 128 + b) % 128", "b % 128"),
        ("(a * 64 + 5) % 128", "a % 2 * 64 + 5"),
        ("a // 4 // 8", "a // 32"),
        ("a // 16 * 16 + a % 16", "a"),
        ("a % 16 % 4", "a % 4"),
        ("a % 4 // 4", "0"),
        ("a % 4 % 8", "a % 4"),
        ("(M + 15) // 16 * 16 // 16", "(M + 15) // 16"),
        ("K * N // N", "K"),
        ("(a + b) * 2 - b - b", "a * 2"),
        ("(a + 1) * (b + 1)", "a + b + a * b + 1"),
        ("a << 3", "a * 8"),
        ("a >> 3", "a // 8"),
        ("a & 7", "a % 8"),
        ("min(a, a + 3)", "a"),
        ("max(min(b, a), min(a, b)) - min(a, b)", "0"),
        ("min(min(a, 3), min(5, b))", "min(min(a, b), 3)"),
        ("select(a < a + 1, b, c)", "b"),
        ("select(a == c, b, b)", "b"),
        ("a + 3 < a + 4", "True"),
        ("a + 4 == a", "False"),
        ("not(a < b)", "a >= b"),
        ("not(x < y)", "not(x < y)"),
        ("not(x == y)", "x != y"),
        ("p & True", "p"),
        ("False | p & p", "p"),
        ("p == False", "not(p)"),
        ("select(p, True, False)", "p"),
        ("i + i32(0)", "i"),
        ("i32(2) * i", "i * i32(2)"),
        ("i * i32(0)", "i32(0)"),
        ("i - i", "i32(0)"),
        ("i & i32(-1)", "i"),
        ("x + f32(0.0)", "x + f32(0.0)"),
        ("x - f32(0.0)", "x"),
        ("x * f32(1.0)", "x"),
        ("x * f32(0.0)", "x * f32(0.0)"),
        ("x - x", "x - x"),
        ("x == x", "x == x"),
        ("-(-x)", "x"),
        ("i32(2147483647) + i32(1)", "i32(-2147483648)"),
        ("u8(200) + u8(100)", "u8(44)"),
        ("i32(-7) // i32(2)", "i32(-4)"),
        ("i32(-7) % i32(2)", "i32(1)"),
        ("i32(1) // i32(0)", "i32(1) // i32(0)"),
        ("f32(0.1) + f32(0.2)", "f32(0.30000001192092896)"),
        ("cast(f32(300.7), u8)", "u8(255)"),
        ("cast(f32(nan), i32)", "i32(0)"),
        ("cast(300, u8)", "u8(44)"),
        ("cast(300, u8, saturate)", "u8(255)"),
        ("cast(a, index)", "a"),
        ("min(f32(nan), x)", "min(x, f32(nan))"),
        ("2 ** 10", "1024"),
        ("a % 0", "a % 0"),
        ("-7 // 2 + -7 % 2", "-3"),
    ],
)
def test_normal_forms(before, after):
    assert print_expr(simplify(read(before))) == print_expr(read(after))


def test_constants_are_plain_numbers():
    assert constant(read("3 * 4 - 2")) == 10
    assert constant(read("a - a + 2 < 3")) is True
    assert constant(read("f32(1.5) * f32(2.0)")) == 3.0
    assert constant(read("a")) is None
    assert constant(Unary("exp", Const(0.0, F32), F32)) is None


def test_the_sign_of_zero_is_kept():
    minus = Const(-0.0, F32)
    assert str(simplify(Select(Const(True, BOOL), minus, Const(0.0, F32), F32)).value) == "-0.0"
    condition = Binary("lt", Var("i", I32), Const(1, I32), BOOL)
    chosen = Select(condition, minus, Const(0.0, F32), F32)
    assert simplify(chosen) is chosen


def test_only_index_has_a_linear_form():
    with pytest.raises(ValueError, match="only index"):
        linear(Var("i", I32))


@given(st.integers(-(2**40), 2**40), st.booleans())
def test_a_cast_of_a_constant_is_in_range(value, saturate):
    found = constant(Convert(index(value), U8, saturate))
    assert found == (min(max(value, 0), 255) if saturate else value % 256)


@pytest.mark.parametrize(("name", "one"), [("i1", -1), ("u1", 1), ("i2", 1), ("i32", 1)])
def test_a_power_of_nothing_is_the_one_of_its_type(name, one):
    """Where 1 is no number of the type it wraps, as everything does."""
    dtype = parse_dtype(name)
    assert simplify(Binary("pow", Var("x", dtype), Const(0, dtype), dtype)) == Const(one, dtype)
