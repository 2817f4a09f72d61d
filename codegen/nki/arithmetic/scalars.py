"""Scalar expressions as Python: what is known when the kernel is traced is computed there.

Dims, scalar parameters and loop counters are Python numbers. Each operation is brought back to its
type: integers wrap at their width, floats are rounded (`scalar_functions.py`); those of type index are
exact. An expression that reads a tile is *dynamic*: the machine alone knows it (`dynamic_scalars.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import isinf, isnan

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import BOOL, F32, F64, INDEX, DType, Kind, limits, round_to
from dslc.compiler.ir import expr as ex
from dslc.compiler.passes.dynamic_values import dynamic_scalars

Names = Mapping[ex.Var, str]

_INFIX = {
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6), "floordiv": ("//", 6),
    "mod": ("%", 6), "shl": ("<<", 4), "shr": (">>", 4), "pow": ("**", 8),
    "eq": ("==", 2), "ne": ("!=", 2), "lt": ("<", 2), "le": ("<=", 2), "gt": (">", 2), "ge": (">=", 2),
}  # fmt: skip
_FUNCTIONS = {
    "exp": "math.exp(min({}, 700.0))", "exp2": "2.0 ** min({}, 1000.0)", "log": "log_of({})",
    "log2": "log2_of({})", "sqrt": "sqrt_of({})", "rsqrt": "quotient_of(1.0, sqrt_of({}))",
    "sin": "sin_of({})", "cos": "cos_of({})", "tanh": "math.tanh({})", "erf": "math.erf({})",
    "sigmoid": "1.0 / (1.0 + math.exp(min(-({}), 700.0)))",
}  # fmt: skip
_WHOLE = {"floor": -1, "round": 0, "ceil": 1}
_IN_RANGE = {"mod", "and", "or", "xor", "shr", "min", "max"}  # of integers: they need no wrapping
_ATOM = 10


def is_dynamic(expr: ex.Expr, dynamic: Set[ex.Var]) -> bool:
    """Whether the value is known on the machine only."""
    return dynamic_scalars.is_dynamic(expr, dynamic)


def number(value: float | bool, dtype: DType) -> str:
    """A constant; infinity and NaN are names of the file's head."""
    if isinstance(value, bool) or not dtype.is_float:
        return str(int(value))
    value = float(value)
    if isnan(value):
        return "NAN"
    if isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def text(expr: ex.Expr, names: Names) -> str:
    """The expression as Python text that may stand as an argument."""
    return _text(expr, names)[0]


def element(expr: ex.Expr, names: Names) -> str:
    """The same for an element of a tile: an instruction rounds what it is given to f32 itself."""
    if expr.dtype == F32 and isinstance(expr, ex.Const):
        return number(expr.value, F32)
    if expr.dtype == F32 and isinstance(expr, ex.Binary | ex.Unary):
        return _operation(expr, names)[0]
    return text(expr, names)


def inner(expr: ex.Expr, names: Names) -> str:
    """The expression as an operand of a product: in parentheses where needed."""
    found, rank = _text(expr, names)
    return found if rank >= 7 else f"({found})"


def _text(e: ex.Expr, names: Names) -> tuple[str, int]:
    match e:
        case ex.Const(value=value, dtype=dtype):
            if dtype.kind is Kind.FLOAT and dtype != F64:
                value = float(round_to(np.asarray(value, np.float64), dtype))
            found = number(value, dtype)
            return found, 7 if found.startswith("-") else _ATOM
        case ex.Var():
            return names[e], _ATOM
        case ex.Convert():
            return _convert(e, names)
        case ex.Select(condition=c, x=x, y=y):
            parts = [_at(p, names, 1) for p in (x, c, y)]
            return f"{parts[0]} if {parts[1]} else {parts[2]}", 0
        case ex.Unary() | ex.Binary():
            found, rank = _operation(e, names)
            if e.op in _WHOLE or (e.op in ("neg", "abs", "min", "max") and e.dtype.is_float):
                return found, rank
            if e.dtype.is_integer and e.op not in _IN_RANGE:
                return _wrapped(found, rank, e.dtype)
            return _rounded(found, rank, e.dtype)
    raise AssertionError(e)


def _rounded(found: str, rank: int, dtype: DType) -> tuple[str, int]:
    """A float brought to its type; all else as it is."""
    if dtype.kind is not Kind.FLOAT or dtype == F64:
        return found, rank
    return f"{dtype.name}({found})", _ATOM


def _wrapped(found: str, rank: int, dtype: DType) -> tuple[str, int]:
    """An integer brought into the range of its type."""
    if dtype == INDEX:
        return found, rank
    size, half = 1 << dtype.bits, -dtype.integer_range[0]
    if half == 0:
        return f"{found if rank >= 6 else f'({found})'} % {size}", 6
    return f"({found if rank >= 5 else f'({found})'} + {half}) % {size} - {half}", 5


def _convert(e: ex.Convert, names: Names) -> tuple[str, int]:
    """A cast by the rules of the language."""
    here, there, x = e.x.dtype, e.dtype, text(e.x, names)
    if here == there:
        return _text(e.x, names)
    if there == BOOL:
        return f"{_at(e.x, names, 3)} != 0", 2
    if there.is_integer:
        least, greatest = there.integer_range
        if here.is_float:
            return f"truncated({x}, {least}, {greatest})", _ATOM
        known = here.integer_range
        found, rank = (f"int({x})", _ATOM) if here == BOOL else _text(e.x, names)
        if there == INDEX or (least <= known[0] and known[1] <= greatest):
            return found, rank
        if e.saturate:
            return f"max({least}, min({greatest}, {x}))", _ATOM
        return _wrapped(found, rank, there)
    if here.is_float:
        if here.mantissa <= there.mantissa and here.exponent <= there.exponent:
            return _text(e.x, names)
        if e.saturate:
            top = float(limits(there).greatest)
            x = f"max(min({x}, {top!r}), {-top!r})"
        return _rounded(x, 0, there)
    if here.bits <= there.mantissa + 1 or there == F64:
        return f"float({x})", _ATOM
    return _rounded(x, 0, there)


def _at(e: ex.Expr, names: Names, least: int) -> str:
    found, rank = _text(e, names)
    return found if rank >= least else f"({found})"


def _operation(e: ex.Unary | ex.Binary, names: Names) -> tuple[str, int]:
    """The exact result of an operation, or that of f64."""
    return _unary(e, names) if isinstance(e, ex.Unary) else _binary(e, names)


def _unary(e: ex.Unary, names: Names) -> tuple[str, int]:
    op, x = e.op, text(e.x, names)
    if op == "not" or (op == "invert" and e.dtype == BOOL):
        return f"not {_at(e.x, names, 2)}", 1
    if op in ("neg", "invert"):
        return f"{'-' if op == 'neg' else '~'}{_at(e.x, names, 7)}", 7
    if op == "abs":
        return f"abs({x})", _ATOM
    if op in _WHOLE:
        return (f"whole({x}, {_WHOLE[op]})", _ATOM) if e.dtype.is_float else _text(e.x, names)
    if op not in _FUNCTIONS:
        raise error("DSL0590", f"there is no {op} of a scalar here")
    return f"({_FUNCTIONS[op].format(x)})", _ATOM


def _binary(e: ex.Binary, names: Names) -> tuple[str, int]:
    x, y, is_float = text(e.x, names), text(e.y, names), e.x.dtype.is_float
    if e.op in ("min", "max"):
        name = e.op if not is_float else "lesser" if e.op == "min" else "greater"
        return f"{name}({x}, {y})", _ATOM
    if e.op in ("and", "or", "xor"):
        if e.dtype.kind is Kind.BOOL and e.op != "xor":
            return f"{_at(e.x, names, 2)} {e.op} {_at(e.y, names, 2)}", 1
        sign = {"and": "&", "or": "|", "xor": "^"}[e.op]
        return f"{_at(e.x, names, 4)} {sign} {_at(e.y, names, 4)}", 3
    if is_float and e.op == "pow":
        return f"power_of({x}, {y})", _ATOM
    sign, rank = _INFIX[e.op]
    found = f"{_at(e.x, names, rank)} {sign} {_at(e.y, names, rank + 1)}"
    if isinstance(e.y, ex.Const) and e.y.value != 0:
        return found, rank
    if e.op == "div":
        return f"quotient_of({x}, {y})", _ATOM
    if e.op in ("floordiv", "mod"):
        other = "0" if not is_float else f"quotient_of({x}, {y})" if e.op == "floordiv" else "NAN"
        return f"({found} if {_at(e.y, names, 3)} != 0 else {other})", _ATOM
    if e.op in ("shl", "shr") and not isinstance(e.y, ex.Const):
        return f"({found} if 0 <= {_at(e.y, names, 3)} < {e.dtype.bits} else 0)", _ATOM
    return found, rank
