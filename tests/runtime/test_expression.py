"""The closed arithmetic: Python's meaning, and nothing but arithmetic."""

import ast

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.expression import compile_expression, evaluate, holds
from hypothesis import example, given
from hypothesis import strategies as st

SIGNS = ["+", "-", "*", "//", "%", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
VALUES = {"M": 1000, "N": -7, "K": 3, "G": 1}


def texts() -> st.SearchStrategy[str]:
    leaf = st.one_of(st.integers(0, 50).map(str), st.sampled_from(sorted(VALUES)))
    signs = st.sampled_from(SIGNS)

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, signs, inner).map(" ".join),
            inner.map("({})".format),
            inner.map("-{}".format),
            inner.map("not {}".format),
            inner.map("~ {}".format),
            st.tuples(inner, inner).map(lambda xy: f"min({xy[0]},{xy[1]})"),
        )

    return st.recursive(leaf, grow, max_leaves=12)


class _Truths(ast.NodeTransformer):
    """`and` and `or` give a truth value here, not an operand."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.Call:
        self.generic_visit(node)
        return ast.Call(ast.Name("bool", ast.Load()), [node], [])


def pythons(text: str) -> object:
    """What Python makes of a text."""
    tree = ast.fix_missing_locations(_Truths().visit(ast.parse(text, mode="eval")))
    return eval(compile(tree, "", "eval"), {"min": min, "bool": bool}, dict(VALUES))


@given(texts())
@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")
@example("~ -(0 or 2)")
def test_the_meaning_is_pythons(text: str) -> None:
    try:
        found = compile_expression(text)(VALUES)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            pythons(text)
        return
    except DiagnosticError as problem:
        # Stricter than Python in one point: comparisons do not chain.
        if "chain" not in str(problem):
            with pytest.raises(SyntaxError):
                compile(text, "", "eval")
        return
    assert found == pythons(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cdiv(M, 16)", 63),
        ("cdiv(N, 2)", -3),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("max(abs(N), K)", 7),
        ("select(K == 3, 1 // K, 1 // (K - 3))", 0),
        ("select(K != 3, 1 // (K - 3), 5)", 5),
        ("i8(200)", -56),
        ("u4(-1)", 15),
        ("i1(1)", -1),
        ("1 << 62 >> 60", 4),
        ("K == 0 or M % K == 1", 1),
        ("u64(-1)", 2**64 - 1),
    ],
)
def test_values(text: str, value: int) -> None:
    assert evaluate(text, VALUES) == value


def test_floats_round_to_their_type() -> None:
    assert compile_expression("f32(0.1)")({}) == 0.10000000149011612
    assert compile_expression("f16(1e6)")({}) == float("inf")
    assert compile_expression("f64(3) / 2")({}) == 1.5
    assert holds("eps > 0.0", {"eps": 1e-5})
    assert not holds("min(eps, 1.0) >= 0.0", {"eps": float("nan")})


@pytest.mark.parametrize(
    "text",
    [
        "", "1 +", "(1", "1)", "a b", "1 < 2 < 3", "2 ** 3", "x.y", "x[0]", "'a'", "f'{x}'", "1,",
        "f(1)", "max(1)", "max(1, 2, 3)", "__import__('os')", "lambda: 1", "x if y", "a == not b",
        "M := 3", "0x10", "1e", "é", "\0", "(" * 5000, "9" * 100, "1" + "+1" * 6000, "-" * 5000 + "1",
        "not " * 2000 + "1", "1" + "+1" * 200, "min(" * 300,
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_expression(text)
    assert caught.value.diagnostics[0].code == "DSL0810"
    assert len(caught.value.diagnostics[0].message) < 200


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("M // (K - 3)", "division by zero"),
        ("M % 0", "division by zero"),
        ("H + 1", "needs a value for 'H'"),
        ("1 << 64", "shift"),
        ("1 << N", "shift"),
        ("M / K", "not an integer"),
        ("i32(1.5)", "has no value"),
        ("M * M * M * M * M * M * M", "64 bits"),
        ("-M * M * M * M * M * M * M", "64 bits"),
    ],
)
def test_an_expression_without_an_integer_is_an_error(text: str, what: str) -> None:
    with pytest.raises(DiagnosticError, match=what) as caught:
        evaluate(text, VALUES)
    assert caught.value.diagnostics[0].code == "DSL0811"
