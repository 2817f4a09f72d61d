"""Hypothesis strategies for syntax trees, and what tests need to compare them with Python's."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.frontend import tree
from dslc.frontend.python_body import BodyReader
from dslc.frontend.python_source import Source
from dslc.frontend.strings import clean_docstring
from hypothesis import strategies as st

L = Loc("random", 1, 1)
BINARY = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "and", "or")

names = st.sampled_from(["a", "b", "x1", "acc", "BM", "_t", "größe", "f16", "strides", "row"])
numbers = st.one_of(
    st.integers(0, 10**30),
    st.floats(0, allow_nan=False),
    st.booleans(),
    st.none(),
)
literals = st.one_of(numbers, st.text(max_size=12)).map(lambda v: tree.Literal(v, loc=L))
atoms = st.one_of(names.map(lambda n: tree.Name(n, loc=L)), literals)


def _tuples(items: st.SearchStrategy[Any], least: int = 0, most: int = 3) -> Any:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


@st.composite
def _compares(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> tree.Compare:
    ops = draw(_tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), 1, 3))
    operands = draw(_tuples(inner, len(ops) + 1, len(ops) + 1))
    return tree.Compare(operands, ops, loc=L)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    optional = st.one_of(st.none(), inner)
    slices = st.builds(lambda a, b, c: tree.Slice(a, b, c, loc=L), optional, optional, optional)
    items = st.one_of(inner, slices, st.just(tree.Name("...", loc=L)))
    keywords = st.dictionaries(names, inner, max_size=2).map(
        lambda d: tuple(tree.Keyword(k, v, loc=L) for k, v in d.items())
    )
    binary = st.sampled_from(BINARY)
    return st.one_of(
        st.builds(lambda o, a, b: tree.Binary(o, a, b, loc=L), binary, inner, inner),
        st.builds(
            lambda o, a: tree.Unary(o, a, loc=L), st.sampled_from(["-", "+", "~", "not"]), inner
        ),
        _compares(inner),
        st.builds(lambda a, b, c: tree.Conditional(a, b, c, loc=L), inner, inner, inner),
        st.builds(lambda i: tree.Sequence(i, loc=L), _tuples(inner)),
        st.builds(lambda f, a, k: tree.Call(f, a, k, loc=L), inner, _tuples(inner), keywords),
        st.builds(lambda v, n: tree.Attribute(v, n, loc=L), inner, names),
        st.builds(lambda v, i: tree.Subscript(v, i, loc=L), inner, _tuples(items)),
    )


expressions = st.recursive(atoms, _grown, max_leaves=12)
_calls = st.builds(lambda f, a: tree.Call(f, a, (), loc=L), atoms, _tuples(expressions))
_targets = st.one_of(
    names.map(lambda n: tree.Name(n, loc=L)),
    st.builds(
        lambda n, i: tree.Subscript(tree.Name(n, loc=L), i, loc=L), names, _tuples(expressions)
    ),
)
_name_tuples = _tuples(names.map(lambda n: tree.Name(n, loc=L)), 1)
_augmented = st.sampled_from(BINARY[:-2])
simple_statements = st.one_of(
    st.builds(lambda t, v: tree.Assign(t, v, loc=L), _targets, expressions),
    st.builds(
        lambda t, v: tree.Assign(tree.Sequence(t, loc=L), v, loc=L), _name_tuples, expressions
    ),
    st.builds(lambda t, o, v: tree.AugAssign(t, o, v, loc=L), _targets, _augmented, expressions),
    st.builds(lambda v: tree.ExprStatement(v, loc=L), _calls),
    st.builds(
        lambda c, t: tree.Assert(c, t, loc=L),
        expressions,
        st.one_of(st.none(), st.text(max_size=5).map(lambda v: tree.Literal(v, loc=L))),
    ),
    st.just(tree.Pass(loc=L)),
)


def _blocks(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    body = _tuples(inner, 1, 3)
    return st.one_of(
        st.builds(lambda t, i, b: tree.For(t, i, b, loc=L), _name_tuples, expressions, body),
        st.builds(lambda c, b: tree.While(c, b, loc=L), expressions, body),
        st.builds(
            lambda c, t, o: tree.If(c, t, o, loc=L), expressions, body, st.one_of(st.just(()), body)
        ),
    )


statements = st.recursive(simple_statements, _blocks, max_leaves=6)
_consts = st.builds(lambda n, v: tree.Const(n, v, loc=L), names, expressions)
declarations = st.one_of(
    _consts,
    st.builds(lambda n, c: tree.Tune(n, c, loc=L), names, _tuples(expressions, 1)),
    st.builds(lambda c: tree.Require(c, "", loc=L), expressions),
)
docs = st.one_of(st.none(), st.text(max_size=40).map(clean_docstring))


@st.composite
def _params(draw: st.DrawFn) -> tuple[tree.Param, ...]:
    made = []
    for name in draw(st.lists(names, unique=True, max_size=3)):
        dims = draw(st.one_of(st.none(), _tuples(expressions, 1)))
        mode = draw(st.sampled_from(["in", "out", "inout"]))
        strides = packed = None
        if dims is not None:
            strides = draw(st.one_of(st.none(), _tuples(expressions, len(dims), len(dims))))
            packed = draw(st.sampled_from([None, "row"]))
        dtype = tree.Name(draw(names), loc=L)
        made.append(tree.Param(name, dtype, dims, mode, strides, packed, loc=L))
    return tuple(made)


@st.composite
def _kernels(draw: st.DrawFn) -> tree.Kernel | tree.Program:
    body = draw(_tuples(declarations)) + draw(_tuples(statements, 1))
    kind = draw(st.sampled_from([tree.Kernel, tree.Program]))
    return kind(draw(names), draw(_params()), body, draw(docs), loc=L)


@st.composite
def _functions(draw: st.DrawFn) -> tree.Function:
    params = tuple(draw(st.lists(names, unique=True, max_size=3)))
    defaults = draw(_tuples(expressions, 0, len(params)))
    body = (*draw(_tuples(statements)), tree.Return(draw(expressions), loc=L))
    return tree.Function(draw(names), params, defaults, body, draw(docs), loc=L)


_imports = st.builds(
    lambda p, n: tree.Import(".".join(p), n, loc=L), _tuples(names, 1), _tuples(names, 1)
)
modules = st.builds(
    lambda i, d: tree.Module(i, d, loc=L),
    _tuples(st.one_of(_imports, _consts, _kernels(), _functions())),
    docs,
)


def through_python(text: str) -> tree.Expr | None:
    """The tree of an expression by way of Python's parser; None where one of the two refuses."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    if isinstance(node, ast.Tuple) and not _in_parentheses(text):
        return None  # `a, b` alone is a statement's, not an expression's
    reader = BodyReader(Source(text.split("\n"), "python"), lambda *_: None, lambda _: None)
    try:
        return reader.expr(node)
    except DiagnosticError:
        return None


def _in_parentheses(text: str) -> bool:
    """Whether a tuple is written with its parentheses: in a list it then stays one item."""
    listed = ast.parse(f"[{text}\n]", mode="eval").body
    return isinstance(listed, ast.List) and [type(i) for i in listed.elts] == [ast.Tuple]


def nodes(node: object) -> Iterator[Any]:
    """Every node of a tree, the root first."""
    if isinstance(node, tuple):
        for item in node:
            yield from nodes(item)
    elif dataclasses.is_dataclass(node) and not isinstance(node, Loc):
        yield node
        for field in dataclasses.fields(node):
            yield from nodes(getattr(node, field.name))
