"""How far a loop may run whose bound the host does not know: what the program asserts of it.

    assert start + S <= L                       start is an element of a tensor
    for l in range(0, start + s + 16, 16)       runs at most up to L - S + s + 16

The host sends the objects of all iterations that there could be, and a core passes over those beyond
its own bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, linear, simplify, to_expr
from dslc.compiler.ir.expr import Expr, Var, free_vars

_LESS = {"le": 0, "lt": 1}
_MORE = {"ge": 0, "gt": 1}


def is_runtime(expr: Expr, known: Iterable[Var]) -> bool:
    """Whether an expression is of more than variables that the host knows."""
    return bool(free_vars(expr) - set(known)) or any(isinstance(e, ex.Read) for e in _parts(expr))


def upper(expr: Expr, known: Iterable[Var], asserted: Sequence[Expr]) -> Expr | None:
    """An expression of known variables that is at least as great, None where nothing tells."""
    known = set(known)
    if isinstance(expr, ex.Select):  # whichever of the two it is
        x, y = (upper(e, known, asserted) for e in (expr.x, expr.y))
        return None if x is None or y is None else simplify(ex.Binary("max", x, y, INDEX))
    form = linear(_wide(expr))
    facts = [f for condition in asserted for f in _at_most_zero(condition)]
    for _ in facts:
        unknown = [a for a in form.terms if is_runtime(a, known)]
        if not unknown:
            break
        replaced = _bounded(form, unknown[0], facts)
        if replaced is None:
            return None
        form = replaced
    limit = simplify(to_expr(form))
    return None if is_runtime(limit, known) else limit


def _bounded(form: Linear, atom: Expr, facts: Iterable[Linear]) -> Linear | None:
    """The form with an atom replaced by the most that a fact allows it."""
    factor = form.terms[atom]
    for fact in facts:
        own = fact.terms.get(atom, 0)
        if own and factor > 0 and own > 0 and factor % own == 0:
            return form - fact.scale(factor // own)
    return None


def _at_most_zero(condition: Expr) -> Iterable[Linear]:
    """Forms that a condition says are at most 0."""
    match condition:
        case ex.Binary("and", x, y):
            yield from _at_most_zero(x)
            yield from _at_most_zero(y)
        case ex.Binary(op, x, y) if op in _LESS and _is_whole(x):
            yield linear(_wide(x)) - linear(_wide(y)) + Linear(constant=_LESS[op])
        case ex.Binary(op, x, y) if op in _MORE and _is_whole(x):
            yield linear(_wide(y)) - linear(_wide(x)) + Linear(constant=_MORE[op])
        case _:
            pass


def _is_whole(expr: Expr) -> bool:
    return expr.dtype.is_integer


def _wide(expr: Expr) -> Expr:
    """Integer arithmetic as that of indices: what is asserted has not wrapped."""
    match expr:
        case ex.Const(value):
            return ex.index(int(value))
        case ex.Binary(op, x, y) if op in ("add", "sub", "mul", "min", "max", "floordiv"):
            return ex.Binary(op, _wide(x), _wide(y), INDEX)
        case ex.Convert(x) if x.dtype.is_integer:
            return _wide(x)
        case _:
            return expr if expr.dtype == INDEX else ex.Convert(expr, INDEX)


def _parts(expr: Expr) -> Iterable[Expr]:
    yield expr
    for name in ("x", "y", "condition"):
        part = getattr(expr, name, None)
        if part is not None and not isinstance(expr, ex.Read | ex.Var | ex.Const):
            yield from _parts(part)
