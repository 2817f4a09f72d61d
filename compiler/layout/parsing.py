"""Layouts from text: the language's layout expressions with numbers in them.

The text is an expression in Python's syntax that is walked by hand, never evaluated.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.diagnostics.suggest import did_you_mean
from dslc.compiler.layout import primitives
from dslc.compiler.layout.composition import broadcast, concat, product
from dslc.compiler.layout.division import complement, divide, left_divide
from dslc.compiler.layout.inversion import inverse
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.reshaping import (
    permute,
    reduce,
    reshape,
    slice_tile,
    squeeze,
    unsqueeze,
)
from dslc.compiler.layout.swizzling import swizzle

MAX_TEXT = 10_000
MAX_DEPTH = 60

Argument: TypeAlias = "int | Layout | Sequence[Any]"

# What a program may call. Arguments are ints, sequences of ints and layouts.
LAYOUT_FUNCTIONS: Mapping[str, Callable[..., Layout]] = MappingProxyType(
    {
        "local": primitives.local,
        "spatial": primitives.spatial,
        "column_local": primitives.column_local,
        "column_spatial": primitives.column_spatial,
        "replicate": primitives.replicate,
        "modes": primitives.modes,
        "swizzle": swizzle,
        "broadcast": broadcast,
        "product": product,
        "concat": concat,
        "reduce": reduce,
        "permute": permute,
        "reshape": reshape,
        "squeeze": squeeze,
        "unsqueeze": unsqueeze,
        "slice": slice_tile,
        "divide": divide,
        "left_divide": left_divide,
        "complement": complement,
        "inverse": inverse,
    }
)

_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def parse_layout(text: str) -> Layout:
    """The layout that the text says, such as `local(2, 1).spatial(8, 4).local(1, 2)`.

    DSL0310 where it is no layout expression, and the codes of the operators.
    """
    if len(text) > MAX_TEXT:
        raise error("DSL0310", f"a layout of {len(text)} characters is too long")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as found:
        reason = found.msg if isinstance(found, SyntaxError) else found
        shown = f"{text.strip()!r} is no layout expression: {reason}"
        raise error("DSL0310", shown, hint="write one such as spatial(8, 4)") from None
    value = _value(tree.body, 0)
    if not isinstance(value, Layout):
        raise error("DSL0310", f"{text.strip()!r} is no layout: write one such as spatial(8, 4)")
    return value


def call_layout_function(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Layout:
    """`name(*args, **keywords)`; DSL0311 for an unknown name or arguments that do not fit."""
    function = LAYOUT_FUNCTIONS.get(name)
    if function is None:
        near = did_you_mean(name, LAYOUT_FUNCTIONS)
        hint = near or f"there are {', '.join(LAYOUT_FUNCTIONS)}"
        raise error("DSL0311", f"there is no layout function {name!r}", hint=hint)
    try:
        return function(*args, **keywords)
    except DiagnosticError:
        raise
    except (TypeError, AttributeError) as found:
        raise error("DSL0311", f"the arguments of {name} do not fit: {found}") from None


def chain_layout(
    layout: Layout, name: str, args: Sequence[Any], keywords: Mapping[str, Any]
) -> Layout:
    """`layout.name(*args, **keywords)`, which is `layout * name(*args, **keywords)`."""
    return layout * call_layout_function(name, args, keywords)


def _value(node: ast.expr, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise error("DSL0310", f"a layout nests more than {MAX_DEPTH} deep")
    match node:
        case ast.Constant(value=int() as value):  # numbers, and True for an option
            return value
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(e, depth + 1) for e in elements]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_value(operand, depth + 1), node)
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(_value(left, depth + 1), op, _value(right, depth + 1), node)
        case ast.Call(func=ast.Name(id=name)):
            return call_layout_function(name, *_arguments(node, depth))
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            base = _value(value, depth + 1)
            if not isinstance(base, Layout):
                raise error("DSL0310", f"{ast.unparse(value)} is no layout")
            return chain_layout(base, name, *_arguments(node, depth))
        case _:
            raise error("DSL0310", f"{ast.unparse(node)!r} has no meaning in a layout")


def _arguments(node: ast.Call, depth: int) -> tuple[list[Any], dict[str, Any]]:
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise error("DSL0310", "a layout's arguments are written out, without **")
        keywords[keyword.arg] = _value(keyword.value, depth + 1)
    return [_value(a, depth + 1) for a in node.args], keywords


def _binary(left: Any, op: ast.operator, right: Any, node: ast.expr) -> Any:
    if isinstance(left, Layout) and isinstance(right, Layout):
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.Div):
            return left / right
    function = _ARITHMETIC.get(type(op))
    if function is None:
        raise error("DSL0310", f"{ast.unparse(node)!r} has no meaning in a layout")
    x, y = _number(left, node), _number(right, node)
    if y == 0 and isinstance(op, ast.FloorDiv | ast.Mod):
        raise error("DSL0310", f"{ast.unparse(node)!r} divides by zero")
    if max(x.bit_length(), y.bit_length()) > 64:
        raise error("DSL0310", f"{ast.unparse(node)!r} is too large")
    return function(x, y)


def _number(value: Any, node: ast.expr) -> int:
    if not isinstance(value, int):
        raise error("DSL0310", f"{ast.unparse(node)!r} has no meaning in a layout")
    return value


Layout.functions = LAYOUT_FUNCTIONS
