from __future__ import annotations

import ast

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.frontend import parse_expression, print_expression, tree
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.generated.random_tree import expressions, through_python


@given(expressions)
@settings(max_examples=200)
def test_precedence_is_pythons(expr: tree.Expr) -> None:
    """An expression printed with the fewest parentheses means the same to both parsers."""
    text = print_expression(expr)
    assert parse_expression(text) == expr
    assert through_python(text) == expr


OPERATORS = (
    *("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "~"),
    *("and", "or", "not", "<", "<=", "==", "if", "else"),
)
SOUP = st.lists(
    st.sampled_from(
        ["a", "b", "1", "2.5", "(", ")", "[", "]", ",", ".", ":", "=", "f", "...", *OPERATORS]
    ),
    max_size=12,
).map(" ".join)


@given(SOUP)
@example("a [ ( b , 1 ) ]")
@example("a [ ( b , 1 ) , ]")
@example("not a == b")
@example("- a ** - b ** 2")
@example("( a , )")
@example("a ,")
@example("a if b else f if 1 else 2")
@settings(max_examples=500)
def test_an_expression_means_what_python_reads(text: str) -> None:
    """What one parser takes, the other takes, and the trees are equal."""
    try:
        ours = parse_expression(text)
    except DiagnosticError:
        ours = None
    assert ours == (through_python(text) if text.strip() else None)


@given(st.text("0123456789_.eExXoObBaf", min_size=1, max_size=8))
@example("1_000")
@example("0xFF_ff")
@example("1e-6")
@example("1__0")
@example("007")
@example("00")
@example("1e999")
@example(".5")
@example("5.")
@settings(max_examples=300)
def test_a_number_is_one_where_python_reads_one(text: str) -> None:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        value = None
    if value is ...:
        return
    try:
        ours = parse_expression(text)
    except DiagnosticError:
        ours = None
    found = ours.value if isinstance(ours, tree.Literal) else None
    assert (found, type(found)) == (value, type(value))


@given(st.text(max_size=30), st.sampled_from(["'", '"', "'''", '"""']))
@example("\\", "'")
@example("\\x41\\u00e9\\101\\q\\\n", '"')
@example("\\N{BULLET}", '"')
@example('a"', '"""')
@settings(max_examples=300)
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_a_string_has_the_value_that_python_reads(inner: str, quote: str) -> None:
    inner = inner.replace("\r", "").replace("\f", "").replace("\0", "")
    text = f"{quote}{inner}{quote}"
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, UnicodeEncodeError):
        return
    if isinstance(value, str):
        assert parse_expression(text) == tree.Literal(value, loc=parse_expression("0").loc)


@pytest.mark.parametrize(
    ("text", "col", "end_col"),
    [("a + b", 1, 6), ("(a + b)", 2, 7), ("((a, b))", 2, 8), ("é + b", 1, 6), ("f(x)[1].y", 1, 10)],
)
def test_the_place_of_an_expression_is_without_its_parentheses(
    text: str, col: int, end_col: int
) -> None:
    loc = parse_expression(text).loc
    assert (loc.line, loc.col, loc.end_line, loc.end_col) == (1, col, 1, end_col)


def test_only_one_expression_is_taken() -> None:
    for text in ("a\nb", "a\nconst c = 1", "a = 1", "", "a b"):
        with pytest.raises(DiagnosticError):
            parse_expression(text)
