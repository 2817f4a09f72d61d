"""Scalar expressions made simple: constants folded, index arithmetic in linear normal form.

    simplify((k + 128) // 128 * 128 - k - 128)  with k = 128 * b   ->  0
    simplify(select(n < n + 16, x, y))                              ->  x

`simplify` gives equal expressions for index arithmetic that is equal by the laws of `linear`; it never
changes what an expression means, rounding, wrapping and NaN included. What the language leaves open
(division by zero) may be answered either way.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir.arithmetic import fold
from dslc.compiler.ir.arithmetic.linear import Linear, order_key, to_expr
from dslc.compiler.ir.expr import (
    COMPARE_OPS,
    FALSE,
    NEGATED,
    REMEMBERED,
    TRUE,
    Binary,
    Const,
    Convert,
    Expr,
    Select,
    Unary,
    Var,
    map_children,
)

__all__ = ["Linear", "constant", "difference", "evaluate", "linear", "simplify", "to_expr"]

_COMMUTATIVE = ("add", "mul", "and", "or", "xor", "min", "max")


@functools.lru_cache(REMEMBERED)
def linear(expr: Expr) -> Linear:
    """The normal form of an expression of dtype index."""
    if expr.dtype != INDEX:
        raise ValueError(f"{expr.dtype} has no linear form: only index expressions do")
    match expr:
        case Const(value):
            return Linear(constant=int(value))
        case Unary("neg", x):
            return -linear(x)
        case Binary(op, x, y) if op in _LINEAR_OPS:
            return _LINEAR_OPS[op](linear(x), linear(y))
        case Binary("shl", x, Const(value)) if 0 <= value < 64:
            return linear(x).scale(1 << int(value))
        case Binary("shr", x, Const(value)) if 0 <= value < 64:
            return linear(x).divide(Linear(constant=1 << int(value)))
        case Binary("and", x, Const(value)) if _is_mask(int(value)):
            return linear(x).modulo(Linear(constant=int(value) + 1))
        case _:
            return _as_linear(_simplify_node(map_children(expr, simplify)))


@functools.lru_cache(REMEMBERED)
def simplify(expr: Expr) -> Expr:
    """An expression of the same value, folded and in normal form; the same object if it is already."""
    if expr.dtype == INDEX:
        return to_expr(linear(expr))
    return _simplify_node(map_children(expr, simplify))


def constant(expr: Expr) -> int | float | bool | None:
    """The number that the expression is, if it is one whatever its variables are."""
    result = simplify(expr)
    return result.value if isinstance(result, Const) else None


def evaluate(
    expr: Expr, known: Mapping[Var, Expr], read: int | None = None
) -> int | float | bool | None:
    """The number that an expression is where these variables are those constants, else None.

    What is read from memory counts as `read`. `constant` sees more: that `x - x` is 0, whatever x is.
    """
    match expr:
        case Const(value):
            return value
        case Var():
            simple = known.get(expr)
            return simple.value if isinstance(simple, Const) else None
        case Binary(op, a, b):
            x, y = evaluate(a, known, read), evaluate(b, known, read)
            return None if x is None or y is None else fold.fold_binary(op, x, y, a.dtype)
        case Unary(op, a):
            x = evaluate(a, known, read)
            return None if x is None else fold.fold_unary(op, x, a.dtype)
        case Select(condition, a, b):
            x = evaluate(condition, known, read)
            return None if x is None else evaluate(a if x else b, known, read)
        case Convert(a, dtype, saturate):
            x = evaluate(a, known, read)
            return None if x is None else fold.fold_convert(x, a.dtype, dtype, saturate)
    return read


def difference(a: Expr, b: Expr) -> int | None:
    """The distance `a - b` of two index expressions, where that is a constant."""
    form = linear(a) - linear(b)
    return form.constant if form.is_constant else None


_LINEAR_OPS: dict[str, Callable[[Linear, Linear], Linear]] = {
    "add": Linear.__add__,
    "sub": Linear.__sub__,
    "mul": Linear.__mul__,
    "floordiv": Linear.divide,
    "mod": Linear.modulo,
}


def _as_linear(expr: Expr) -> Linear:
    # A simplified node is an atom, a constant, or an operand handed up, which is a sum itself.
    if isinstance(expr, Const):
        return Linear(constant=int(expr.value))
    if isinstance(expr, Unary | Binary) and expr.op in ("neg", *_LINEAR_OPS):
        return linear(expr)
    return Linear({expr: 1})


def _is_mask(value: int) -> bool:
    return value > 0 and value & (value + 1) == 0


def _simplify_node(expr: Expr) -> Expr:
    """One step at the root; the operands are simple already."""
    match expr:
        case Unary(op, Const(value), dtype):
            folded = fold.fold_unary(op, value, dtype)
            return expr if folded is None else Const(folded, dtype)
        case Unary():
            return _simplify_unary(expr)
        case Binary(op, Const(x, of), Const(y), dtype):
            folded = fold.fold_binary(op, x, y, of)
            return expr if folded is None else Const(folded, dtype)
        case Binary(op) if op in COMPARE_OPS:
            return _simplify_comparison(expr)
        case Binary():
            return _simplify_binary(expr)
        case Select(condition, x, y):
            return _simplify_select(expr, condition, x, y)
        case Convert(x, dtype) if x.dtype == dtype:
            return x
        case Convert(Const(value, source), dtype, saturate):
            folded = fold.fold_convert(value, source, dtype, saturate)
            return expr if folded is None else Const(folded, dtype)
        case _:
            return expr


def _simplify_unary(expr: Unary) -> Expr:
    match expr:
        case Unary("not" | "invert" | "neg", Unary(inner, x)) if inner == expr.op:
            return x
        case Unary("not", Binary(op, x, y, dtype)) if op in NEGATED:
            # NaN is neither less nor not less: only equality is negated on floats.
            if op in ("eq", "ne") or not x.dtype.is_float:
                return _simplify_node(Binary(NEGATED[op], x, y, dtype))
    return expr


def _simplify_comparison(expr: Binary) -> Expr:
    op, x, y = expr.op, expr.x, expr.y
    if x.dtype == INDEX:
        distance = difference(x, y)
        if distance is not None:
            return TRUE if fold.fold_binary(op, distance, 0, INDEX) else FALSE
    if x == y and not x.dtype.is_float:
        return TRUE if op in ("eq", "le", "ge") else FALSE
    if x.dtype == BOOL and op in ("eq", "ne") and isinstance(y, Const):
        return x if bool(y.value) == (op == "eq") else _simplify_node(Unary("not", x, BOOL))
    return expr


def _simplify_binary(expr: Binary) -> Expr:
    op, x, y, dtype = expr.op, expr.x, expr.y, expr.dtype
    if op in _COMMUTATIVE and _out_of_order(x, y):
        x, y = y, x
        expr = Binary(op, x, y, dtype)
    if dtype == INDEX and op in ("min", "max"):
        return _extreme(expr)
    if dtype.is_float:
        return _float_identity(expr)
    if isinstance(y, Const):
        return _integer_identity(expr, int(y.value))
    if x == y:
        match op:
            case "and" | "or" | "min" | "max":
                return x
            case "sub" | "xor":
                return Const(False if dtype == BOOL else 0, dtype)
    return expr


def _out_of_order(x: Expr, y: Expr) -> bool:
    """Constants stand right; other operands by their order, so that equal expressions meet."""
    if isinstance(x, Const) or isinstance(y, Const):
        return isinstance(x, Const) and not isinstance(y, Const)
    return order_key(y) < order_key(x)


def _float_identity(expr: Binary) -> Expr:
    # x + 0 is not x where x is -0, and x * 0 not 0 where x is NaN: only these hold always.
    match expr.op, expr.y:
        case "mul" | "div", Const(1):
            return expr.x
        case "sub", Const(value) if str(float(value)) == "0.0":
            return expr.x
        case "add", Const(value) if str(float(value)) == "-0.0":
            return expr.x
    return expr


def _integer_identity(expr: Binary, y: int) -> Expr:
    """`x op y` for a constant y and an x of an integer dtype or bool."""
    op, x, dtype = expr.op, expr.x, expr.dtype
    zero = Const(False if dtype == BOOL else 0, dtype)
    ones = 1 if dtype == BOOL else fold.wrap(-1, dtype)
    match op:
        case "add" | "sub" | "or" | "xor" | "shl" | "shr" if y == 0:
            return x
        case "mul" | "floordiv" | "pow" if y == 1:
            return x
        case "mul" if y == 0:
            return zero
        case "mod" if y == 1:
            return zero
        case "and" if y in (0, ones):
            return x if y == ones else zero
        case "or" if y == ones:
            return expr.y
        case "pow" if y == 0:  # whose 1 is -1 in i1
            return Const(1 if dtype == BOOL else fold.wrap(1, dtype), dtype)
    return expr


def _extreme(expr: Binary) -> Expr:
    """A minimum or maximum of index expressions: those that another one beats leave."""
    kept: list[Expr] = []
    for x in _operands(expr, expr.op):
        if any(_beats(expr.op, k, x) for k in kept):
            continue
        kept = [k for k in kept if not _beats(expr.op, x, k)]
        kept.append(x)
    kept.sort(key=lambda e: (isinstance(e, Const), order_key(e)))
    result = kept[0]
    for x in kept[1:]:
        result = Binary(expr.op, result, x, INDEX)
    return result


def _operands(expr: Expr, op: str) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == op and expr.dtype == INDEX:
        return [*_operands(expr.x, op), *_operands(expr.y, op)]
    return [expr]


def _beats(op: str, x: Expr, y: Expr) -> bool:
    distance = difference(x, y)
    if distance is None:
        return False
    return distance <= 0 if op == "min" else distance >= 0


def _simplify_select(expr: Select, condition: Expr, x: Expr, y: Expr) -> Expr:
    if isinstance(condition, Const):
        return x if condition.value else y
    if x is y:
        return x
    if isinstance(condition, Unary) and condition.op == "not":
        return _simplify_select(expr, condition.x, y, x)
    if expr.dtype == BOOL and x == TRUE and y == FALSE:
        return condition
    same = (condition, x, y) == (expr.condition, expr.x, expr.y)
    return expr if same else dataclasses.replace(expr, condition=condition, x=x, y=y)
