"""Expressions of manifests as C: the closed grammar, over 64-bit integers.

    max(0, cdiv(M, 16)) * N % 4    ->    dslc_mod((dslc_max(INT64_C(0), ...) * N), INT64_C(4))

The texts are those that `dslc.compiler.manifest` writes. What C has no exact words for (rounding to
f16, division of floats) is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from dslc.compiler.diagnostics import DiagnosticError, error

_INFIX = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_CALLS = {
    ast.FloorDiv: "dslc_div",
    ast.Mod: "dslc_mod",
    ast.LShift: "dslc_shl",
    ast.RShift: "dslc_shr",
}
_FUNCTIONS = {"min": 2, "max": 2, "cdiv": 2, "abs": 1}
_WRAPS = {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}


def c_expression(text: str, names: Mapping[str, str]) -> str:
    """The C expression of a text; `names` gives what each name is in C. DSL0804 for what has none."""
    try:
        return _c(ast.parse(text, mode="eval").body, names)
    except SyntaxError:
        raise _no_words(text) from None


def _c(node: ast.expr, names: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool) and value < 1 << 63:
            return f"INT64_C({value})"
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return f"(-{_c(x, names)})"
        case ast.UnaryOp(op=ast.UAdd(), operand=x):
            return _c(x, names)
        case ast.UnaryOp(op=ast.Invert(), operand=x):
            return f"(~{_c(x, names)})"
        case ast.UnaryOp(op=ast.Not(), operand=x):
            return f"(!{_c(x, names)})"
        case ast.BinOp(left=x, op=op, right=y) if type(op) in _INFIX:
            return f"({_c(x, names)} {_INFIX[type(op)]} {_c(y, names)})"
        case ast.BinOp(left=x, op=op, right=y) if type(op) in _CALLS:
            return f"{_CALLS[type(op)]}({_c(x, names)}, {_c(y, names)})"
        case ast.Compare(left=x, ops=[op], comparators=[y]) if type(op) in _INFIX:
            return f"({_c(x, names)} {_INFIX[type(op)]} {_c(y, names)})"
        case ast.BoolOp(op=op, values=values):
            sign = " && " if isinstance(op, ast.And) else " || "
            return f"({sign.join(_c(v, names) for v in values)})"
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _call(name, args, names)
    raise _no_words(ast.unparse(node))


def _call(name: str, args: list[ast.expr], names: Mapping[str, str]) -> str:
    given = [_c(a, names) for a in args]
    if name == "select" and len(given) == 3:
        return f"({given[0]} ? {given[1]} : {given[2]})"
    if _FUNCTIONS.get(name) == len(given):
        return f"dslc_{name}({', '.join(given)})"
    if name in _WRAPS and len(given) == 1:
        prefix = "u" if name[0] == "u" else ""
        return f"((int64_t)({prefix}int{_WRAPS[name]}_t){given[0]})"
    raise _no_words(f"{name}(...)")


def _no_words(what: str) -> DiagnosticError:
    return error(
        "DSL0804",
        f"`{what}` cannot stand in the C interface of a package: it computes with integers alone",
        hint="leave the kernel out of packages with consumers, or compute it in the kernel's body",
    )
