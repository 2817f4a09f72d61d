"""The same body under both front-ends: one tree, the same places."""

from __future__ import annotations

import ast

import pytest
from dslc.frontend import parse_expression, parse_tile, print_expression, print_module, tree
from dslc.frontend.python_body import BodyReader
from dslc.frontend.python_source import Source
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated.random_tree import L, expressions, nodes, statements, through_python

WARNINGS = pytest.mark.filterwarnings("ignore::SyntaxWarning")


def places(node: object) -> list[tuple[int, ...]]:
    """Where the nodes of a tree are.

    Of `a and (b) and c` Python's tree does not tell where `a and (b)` ends: ends of these are left out.
    """
    found = []
    for one in nodes(node):
        loc = one.loc
        logical = isinstance(one, tree.Binary) and one.op in ("and", "or")
        found.append((loc.line, loc.col) + (() if logical else (loc.end_line, loc.end_col)))
    return found


@WARNINGS
@given(expressions)
@settings(max_examples=150)
def test_expressions_have_the_same_places(expr: tree.Expr) -> None:
    text = print_expression(expr)
    assert places(parse_expression(text)) == places(through_python(text))


@WARNINGS
@given(st.lists(statements, min_size=1, max_size=3))
@settings(max_examples=100)
def test_statements_have_the_same_tree_and_places(body: list[tree.Statement]) -> None:
    kernel = tree.Kernel("k", (), tuple(body), loc=L)
    header, _, text = print_module(tree.Module((kernel,), loc=L)).partition("\n")
    (parsed,) = parse_tile(f"{header}\n{text}", "tile").items
    assert isinstance(parsed, tree.Kernel)

    source = f"if True:\n{text}"
    (block,) = ast.parse(source).body
    assert isinstance(block, ast.If)
    found: list[object] = []
    reader = BodyReader(Source(source.split("\n"), "python"), lambda *_: None, found.append)
    read = reader.block(block.body)
    assert found == []
    assert read == parsed.body
    assert places(read) == places(parsed.body)
