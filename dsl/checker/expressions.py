"""Expressions: from the tree to items, emitting instructions on the way."""

from __future__ import annotations

import math
from typing import assert_never

from dslc.checker import arithmetic, calls, parts, subscript
from dslc.checker.arithmetic import OPERATORS, as_expr
from dslc.checker.context import MAX_ITEMS, Context
from dslc.checker.failure import fail
from dslc.checker.items import Absent, Item, describe, is_number
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, Kind
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.frontend import tree

MAX_DEPTH = 200
_ATTRIBUTES = {  # of an array elsewhere -> what to write here
    "T": "write transpose(x)",
    "shape": "write dim(x, axis)",
    "size": "write dim(x, axis)",
    "dtype": "name the dtype: const T = f16",
}
_EXACT = ("+", "-", "*", "//", "%")  # what an index computes in 64 bits


def evaluate(c: Context, node: tree.Expr, *, index: bool = False) -> Item:
    """The item that an expression stands for.

    With `index` (subscripts, ranges) sums and products of integer scalars are those of dtype index:
    they never overflow, and `i : i + 16` has 16 elements whatever the dtype of i.
    """
    outer_loc, c.emit.loc = c.emit.loc, node.loc
    c.depth += 1
    if c.depth > MAX_DEPTH:
        c.depth -= 1
        fail("DSL0229", "this expression is nested too deeply", node.loc)
    try:
        return _evaluate(c, node, index)
    finally:
        c.depth -= 1
        c.emit.loc = outer_loc


def _evaluate(c: Context, node: tree.Expr, index: bool) -> Item:
    match node:
        case tree.Name():
            return c.lookup(node)
        case tree.Literal(value=value):
            if value == math.inf:
                fail("DSL0224", "this number is too large for a float", node.loc, hint="write inf")
            return value
        case tree.Sequence(items=items):
            return tuple(evaluate(c, i) for i in items)
        case tree.Unary(op=op, operand=operand):
            return _unary(c, op, operand, node.loc, index)
        case tree.Binary(op="and" | "or" as op):
            return _logical(c, op, node)
        case tree.Binary():
            return _binary(c, node, index)
        case tree.Compare():
            return _compare(c, node)
        case tree.Conditional():
            return _conditional(c, node)
        case tree.Call():
            return calls.call(c, node)
        case tree.Attribute(name=name):
            hint = _ATTRIBUTES.get(name, "a dot composes layouts: spatial(8, 4).local(1, 2)")
            fail("DSL0219", f".{name} is not part of the language", node.loc, hint=hint)
        case tree.Subscript():
            return _subscript(c, node)
    assert_never(node)


def _unary(c: Context, op: str, operand: tree.Expr, loc: Loc, index: bool) -> Item:
    item = evaluate(c, operand, index=index)
    if index and op == "-":
        item = arithmetic.widened(item)
    match op:
        case "-":
            return arithmetic.unary(c.emit, "neg", item, loc)
        case "~":
            return arithmetic.unary(c.emit, "invert", item, loc)
        case "not":
            return _negate(c, item, loc)
        case _:
            if not is_number(item):
                arithmetic.binary(c.emit, "add", 0, item, loc)  # refuses what + does not work on
            return item


def _negate(c: Context, item: Item, loc: Loc) -> Item:
    truth = condition(c, item, loc)
    if isinstance(truth, bool):
        return not truth
    return ex.Unary("not", truth, BOOL)


def _binary(c: Context, node: tree.Binary, index: bool) -> Item:
    op, loc = node.op, node.loc
    if op not in OPERATORS:
        fail(
            "DSL0214",
            f"the operator {op} is not part of the language",
            loc,
            hint="write dot(a, b)" if op == "@" else None,
        )
    index = index and op in _EXACT
    x, y = evaluate(c, node.left, index=index), evaluate(c, node.right, index=index)
    if index:
        x, y = arithmetic.widened(x), arithmetic.widened(y)
    if isinstance(x, tuple) and (joined := _list_operator(c, op, x, y, loc)) is not None:
        return joined
    layout = calls.layout_operator(c, op, x, y, loc)
    if layout is not None:
        return layout
    return arithmetic.binary(c.emit, OPERATORS[op], x, y, loc)


def _list_operator(
    c: Context, op: str, x: tuple[Item, ...], y: Item, loc: Loc
) -> tuple[Item, ...] | None:
    """`[a] * 4` and `[a] + [b]`, as Python has them."""
    if op == "+" and isinstance(y, tuple):
        count = len(x) + len(y)
    elif op == "*" and isinstance(y, int) and not isinstance(y, bool):
        count = len(x) * y
    else:
        return None
    if count > MAX_ITEMS:
        fail("DSL0232", f"a list has at most {MAX_ITEMS} items, not {count}", loc)
    return (*x, *y) if isinstance(y, tuple) else x * y


def _logical(c: Context, op: str, node: tree.Binary) -> Item:
    left = condition(c, evaluate(c, node.left), node.left.loc)
    if isinstance(
        left, bool
    ):  # what is decided at compile time need not be well-formed on the right
        if left == (op == "or"):
            return left
        return condition(c, evaluate(c, node.right), node.right.loc)
    right = condition(c, evaluate(c, node.right), node.right.loc)
    if isinstance(right, bool):
        return left if right == (op == "and") else right
    return ex.Binary(op, left, right, BOOL)


def condition(c: Context, item: Item, loc: Loc) -> bool | ex.Expr:
    """A scalar as a truth value: known, or an expression of dtype bool."""
    if isinstance(item, bool | int | float):
        return bool(item)
    if isinstance(item, Value):
        fail(
            "DSL0210",
            f"{describe(item)} has no single truth value",
            loc,
            hint="choose per element with where(cond, a, b), or reduce with any or all",
        )
    scalar = as_expr(item, loc)
    known = c.known(scalar)
    if known is not None:
        return bool(known)
    if scalar.dtype.kind is Kind.BOOL:
        return scalar
    zero = ex.Const(0.0 if scalar.dtype.is_float else 0, scalar.dtype)
    return ex.Binary("ne", scalar, zero, BOOL)


def _compare(c: Context, node: tree.Compare) -> Item:
    items = [evaluate(c, o) for o in node.operands]
    comparisons: list[Item] = []
    for op, x, y in zip(node.ops, items, items[1:], strict=False):
        if op in ("is", "is not"):
            comparisons.append(_identity(op, x, y, node.loc))
            continue
        if op not in OPERATORS:
            fail("DSL0214", f"the operator {op} is not part of the language", node.loc)
        comparisons.append(arithmetic.binary(c.emit, OPERATORS[op], x, y, node.loc))
    result = comparisons[0]
    for item in comparisons[1:]:
        result = arithmetic.binary(c.emit, "and", result, item, node.loc)
    return result


def _identity(op: str, x: Item, y: Item, loc: Loc) -> bool:
    """`x is None` and `x is not None`: known when the kernel is compiled."""
    if y is not None:
        hint = (
            "write `==` to compare numbers; `is None` asks whether an optional parameter was given"
        )
        fail("DSL0214", f"{op} compares with None alone", loc, hint=hint)
    return (x is None or isinstance(x, Absent)) == (op == "is")


def _conditional(c: Context, node: tree.Conditional) -> Item:
    truth = condition(c, evaluate(c, node.condition), node.condition.loc)
    if isinstance(truth, bool):
        return evaluate(c, node.then if truth else node.otherwise)
    x, y = evaluate(c, node.then), evaluate(c, node.otherwise)
    return select(truth, x, y, node.loc)


def select(truth: ex.Expr, x: Item, y: Item, loc: Loc) -> Item:
    """One of two scalars."""
    if isinstance(x, Value) or isinstance(y, Value):
        fail(
            "DSL0210",
            "`a if c else b` chooses between scalars",
            loc,
            hint="write where(c, a, b), or an if statement",
        )
    dtype = arithmetic.common_dtype((as_expr(x, loc), as_expr(y, loc)), loc)
    return ex.Select(
        truth, arithmetic.as_dtype(x, dtype, loc), arithmetic.as_dtype(y, dtype, loc), dtype
    )


def _subscript(c: Context, node: tree.Subscript) -> Item:
    item = evaluate(c, node.value)
    if isinstance(item, Memory) and c.views is not None:
        return c.views.part(c, item, node)
    if isinstance(item, Memory):
        subscript.check_readable(item, node.loc)
        return subscript.read(c, subscript.access(c, item, node, c.evaluate_index))
    if isinstance(item, Value):
        return parts.part(c, item, node, lambda e: evaluate(c, e))
    if isinstance(item, tuple):
        return item[list_index(c, item, node)]
    fail("DSL0212", f"{describe(item)} cannot be subscripted", node.loc)


def list_index(c: Context, items: tuple[Item, ...], node: tree.Subscript) -> int:
    """The element of a list that a subscript names, counted from 0."""
    if len(node.items) != 1 or isinstance(node.items[0], tree.Slice):
        fail("DSL0212", "a list takes one integer subscript", node.loc)
    item = evaluate(c, node.items[0])
    if any(isinstance(i, Memory) for i in items) and c.known(item) is None:
        hint = f"for i in static(range({len(items)})): if t == i: ... x[i] ..."
        fail("DSL0238", "a counter chooses no tensor when the kernel runs", node.loc, hint=hint)
    at = c.integer(item, node.loc, "the subscript of a list")
    if not -len(items) <= at < len(items):
        fail("DSL0212", f"subscript {at} is outside a list of {len(items)}", node.loc)
    return at % len(items)
