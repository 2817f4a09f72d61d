"""Scalar expressions as Python: what is known when the kernel is traced is computed there.

Dims, scalar parameters and loop counters are Python numbers. An expression that reads a tile is
*dynamic*: it is known on the machine only (`dynamic_scalars.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import isinf, isnan

from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import expr as ex

_INFIX = {
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6), "floordiv": ("//", 6),
    "mod": ("%", 6), "shl": ("<<", 4), "shr": (">>", 4), "pow": ("**", 8),
    "eq": ("==", 2), "ne": ("!=", 2), "lt": ("<", 2), "le": ("<=", 2), "gt": (">", 2), "ge": (">=", 2),
}  # fmt: skip
_FUNCTIONS = {
    "exp": "math.exp({})", "exp2": "2.0 ** ({})", "log": "math.log({})", "log2": "math.log2({})",
    "sqrt": "math.sqrt({})", "rsqrt": "1.0 / math.sqrt({})", "sin": "math.sin({})",
    "cos": "math.cos({})", "tanh": "math.tanh({})", "erf": "math.erf({})", "abs": "abs({})",
    "sigmoid": "1.0 / (1.0 + math.exp(-({})))", "floor": "math.floor({})", "ceil": "math.ceil({})",
    "round": "round({})",
}  # fmt: skip
_ATOM = 10


def is_dynamic(expr: ex.Expr, dynamic: Set[ex.Var]) -> bool:
    """Whether the value is known on the machine only."""
    return any(isinstance(n, ex.Read) or n in dynamic for n in ex.walk(expr))


def number(value: float | bool, *, whole: bool = False) -> str:
    """A constant; infinity and NaN are names of the file's head."""
    if isinstance(value, bool) or whole:
        return str(int(value))
    value = float(value)
    if isnan(value):
        return "NAN"
    if isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def text(expr: ex.Expr, names: Mapping[ex.Var, str]) -> str:
    """The expression as Python text that may stand as an argument."""
    return _text(expr, names)[0]


def inner(expr: ex.Expr, names: Mapping[ex.Var, str]) -> str:
    """The expression as an operand of a product: in parentheses where needed."""
    found, rank = _text(expr, names)
    return found if rank >= 7 else f"({found})"


def _text(e: ex.Expr, names: Mapping[ex.Var, str]) -> tuple[str, int]:
    match e:
        case ex.Const(value=value, dtype=dtype):
            found = number(value, whole=not dtype.is_float)
            return found, 7 if found.startswith("-") else _ATOM
        case ex.Var():
            return names[e], _ATOM
        case ex.Convert(x=x, dtype=dtype):
            if dtype.is_integer and x.dtype.is_float:
                return f"int({text(x, names)})", _ATOM
            if dtype.kind is not Kind.INDEX and dtype.is_float and not x.dtype.is_float:
                return f"float({text(x, names)})", _ATOM
            return _text(x, names)
        case ex.Select(condition=c, x=x, y=y):
            parts = [_at(p, names, 1) for p in (x, c, y)]
            return f"{parts[0]} if {parts[1]} else {parts[2]}", 0
        case ex.Unary(op=op, x=x):
            return _unary(op, x, names)
        case ex.Binary():
            return _binary(e, names)
    raise AssertionError(e)


def _at(e: ex.Expr, names: Mapping[ex.Var, str], least: int) -> str:
    found, rank = _text(e, names)
    return found if rank >= least else f"({found})"


def _unary(op: str, x: ex.Expr, names: Mapping[ex.Var, str]) -> tuple[str, int]:
    if op in ("neg", "invert"):
        return f"{'-' if op == 'neg' else '~'}{_at(x, names, 7)}", 7
    if op == "not":
        return f"not {_at(x, names, 2)}", 1
    if op not in _FUNCTIONS:
        raise error("DSL0590", f"there is no {op} of a scalar here")
    return f"({_FUNCTIONS[op].format(text(x, names))})", _ATOM


def _binary(e: ex.Binary, names: Mapping[ex.Var, str]) -> tuple[str, int]:
    if e.op in ("min", "max"):
        return f"{e.op}({text(e.x, names)}, {text(e.y, names)})", _ATOM
    if e.op in ("and", "or", "xor"):
        if e.dtype.kind is Kind.BOOL and e.op != "xor":
            return f"{_at(e.x, names, 2)} {e.op} {_at(e.y, names, 2)}", 1
        sign = {"and": "&", "or": "|", "xor": "^"}[e.op]
        return f"{_at(e.x, names, 4)} {sign} {_at(e.y, names, 4)}", 3
    sign, rank = _INFIX[e.op]
    return f"{_at(e.x, names, rank)} {sign} {_at(e.y, names, rank + 1)}", rank
