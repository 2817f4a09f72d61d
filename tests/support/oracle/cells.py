"""What there is to compute of two tiles of a dtype: the cells of the table of the language."""

from __future__ import annotations

from collections.abc import Callable

from support.oracle.dtypes import DTYPES
from support.oracle.expressions import number
from support.oracle.tree import Affine, Expr, Sub

LOOSE = {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf"}


def operations(dtype: str) -> dict[str, Callable[[Expr, Expr], Expr]]:
    """What there is to compute of two tiles of a dtype, by the names of the language."""
    d = DTYPES[dtype]
    found: dict[str, Callable[[Expr, Expr], Expr]] = _shaping(dtype)
    if d.kind == "bool":
        found |= {op: _binary(op) for op in ("&", "|", "^", "==", "!=")}
        found |= {op: _reduction(op) for op in ("any", "all")}
        return found | {"invert": _unary("invert"), "where": lambda x, y: _where(x, x, y)}
    if not d.computes:
        return found
    found |= {op: _binary(op) for op in ("+", "-", "*", "==", "!=", "<", "<=", ">", ">=")}
    found |= {op: _binary(op) for op in ("maximum", "minimum")}
    found |= {op: _unary(op) for op in ("neg", "abs")}
    found |= {op: _reduction(op) for op in ("max", "min", "argmax", "argmin", "sum")}
    found |= {op: _running(op) for op in ("cumsum", "cumprod", "cummax", "cummin")}
    found["prod"] = lambda x, y: Expr("prod", x.dtype, (x.shape[0], 1), (_few(x),), (1, True))
    found |= _sorting()
    found["where"] = lambda x, y: _where(Expr("<", "bool", x.shape, (x, y)), x, y)
    found["clamp"] = lambda x, y: Expr("clamp", x.dtype, x.shape, (x, *_ends(x.dtype)))
    if d.is_integer:
        found |= {op: _binary(op) for op in ("&", "|", "^")} | {"invert": _unary("invert")}
        found |= {op: _shift(op) for op in ("<<", ">>")} | {op: _divided(op) for op in ("//", "%")}
        found["**"] = lambda x, y: Expr(
            "**", x.dtype, x.shape, (x, number(d.greatest % 4, x.dtype))
        )
        return found
    found |= {op: _unary(op) for op in ("floor", "ceil", "round")}
    found |= {op: _loose(op) for op in LOOSE}
    found["fma"] = lambda x, y: Expr("fma", x.dtype, x.shape, (_small(x), _small(y), _small(x)))
    found["**"] = lambda x, y: Expr("**", x.dtype, x.shape, (_small(x), number(2.0, x.dtype)))
    for op in ("/", "//", "%"):
        found[op] = _by_four(op)
    return found


def _binary(op: str) -> Callable[[Expr, Expr], Expr]:
    compares = op in ("==", "!=", "<", "<=", ">", ">=")
    return lambda x, y: Expr(op, "bool" if compares else x.dtype, x.shape, (x, y))


def _unary(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: Expr(op, x.dtype, x.shape, (x,))


def _by_four(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: Expr(op, x.dtype, x.shape, (_small(x), number(-4.0, x.dtype)))


def _loose(op: str) -> Callable[[Expr, Expr], Expr]:
    """Of numbers from -8 to 8, or from 1 where the others have no value."""

    def made(x: Expr, y: Expr) -> Expr:
        x = _small(x)
        if op in ("log", "log2", "sqrt", "rsqrt"):
            size = Expr("abs", x.dtype, x.shape, (x,))
            x = Expr("+", x.dtype, x.shape, (size, number(1.0, x.dtype)))
        return Expr(op, x.dtype, x.shape, (x,))

    return made


def _small(x: Expr) -> Expr:
    """Whole numbers from -8 to 8, of floats."""
    if not DTYPES[x.dtype].is_float:
        return x
    whole = Expr("round", x.dtype, x.shape, (x,))
    return Expr("clamp", x.dtype, x.shape, (whole, number(-8.0, x.dtype), number(8.0, x.dtype)))


def _ends(dtype: str) -> tuple[Expr, Expr]:
    d = DTYPES[dtype]
    if d.is_float:
        return number(-1.5, dtype), number(3.0, dtype)
    return number(max(d.least, -2), dtype), number(min(d.greatest, 3), dtype)


def _reduction(op: str) -> Callable[[Expr, Expr], Expr]:
    dtype = {"argmax": "i32", "argmin": "i32", "any": "bool", "all": "bool"}.get(op)
    return lambda x, y: Expr(
        op, dtype or x.dtype, (x.shape[0], 1), (_small(x) if op == "sum" else x,), (1, True)
    )


def _few(x: Expr) -> Expr:
    """Whole numbers from -2 to 2, of floats: products of eight are exact in every dtype."""
    if not DTYPES[x.dtype].is_float:
        return x
    ends = (number(-2.0, x.dtype), number(2.0, x.dtype))
    return Expr("clamp", x.dtype, x.shape, (_small(x), *ends))


def _running(op: str) -> Callable[[Expr, Expr], Expr]:
    of = {"cumsum": _small, "cumprod": _few}.get(op, lambda x: x)
    return lambda x, y: Expr(op, x.dtype, x.shape, (of(x),), (1,))


def _sorting() -> dict[str, Callable[[Expr, Expr], Expr]]:
    """Rising and falling, and the three greatest with their places."""
    return {
        "sort": lambda x, y: Expr("sort", x.dtype, x.shape, (x,), (1, False)),
        "sort falling": lambda x, y: Expr("sort", x.dtype, x.shape, (x,), (1, True)),
        "argsort": lambda x, y: Expr("argsort", "i32", x.shape, (x,), (1, False)),
        "argsort falling": lambda x, y: Expr("argsort", "i32", x.shape, (x,), (1, True)),
        "topk": lambda x, y: Expr("topk", x.dtype, (x.shape[0], 3), (x,), (3, 1, 0)),
        "topk places": lambda x, y: Expr("topk", "i32", (x.shape[0], 3), (x,), (3, 1, 1)),
    }


def _where(condition: Expr, x: Expr, y: Expr) -> Expr:
    return Expr("where", x.dtype, condition.shape, (condition, x, y))


def _shift(op: str) -> Callable[[Expr, Expr], Expr]:
    def made(x: Expr, y: Expr) -> Expr:
        """By each width: y & 7 where that is narrower, else 0 or y & 1."""
        bits = DTYPES[x.dtype].bits
        mask = 1 << bits.bit_length() - 1
        some = number(min(mask - 1, DTYPES[x.dtype].greatest), x.dtype)
        by = Expr("&", x.dtype, x.shape, (y, some)) if bits > 1 else number(0, x.dtype)
        return Expr(op, x.dtype, x.shape, (x, by))

    return made


def _divided(op: str) -> Callable[[Expr, Expr], Expr]:
    def made(x: Expr, y: Expr) -> Expr:
        is_zero = Expr("==", "bool", x.shape, (y, number(0, x.dtype)))
        one = number(1 if DTYPES[x.dtype].greatest else -1, x.dtype)
        return Expr(op, x.dtype, x.shape, (x, _where(is_zero, one, y)))

    return made


def _shaping(dtype: str) -> dict[str, Callable[[Expr, Expr], Expr]]:
    def joined(x: Expr, y: Expr) -> Expr:
        parts = tuple(
            Expr("part", z.dtype, (z.shape[0], n), (z,), ((Sub("all"), Sub("slice", Affine(), n)),))
            for z, n in ((x, 3), (y, x.shape[1] - 3))
        )
        return Expr("concat", x.dtype, x.shape, parts, (1,))

    def twice(x: Expr, y: Expr) -> Expr:
        return Expr("repeat", x.dtype, (x.shape[0], 2 * x.shape[1]), (x,), (2, 1))

    def turned(x: Expr, y: Expr) -> Expr:
        back = Expr("transpose", x.dtype, x.shape[::-1], (x,), (None,))
        return Expr("reshape", x.dtype, x.shape, (back,))

    def column(x: Expr, y: Expr) -> Expr:
        part = Expr("part", x.dtype, (1, x.shape[1]), (x,), ((Sub("slice"), Sub("all")),))
        return Expr("broadcast", x.dtype, x.shape, (part,))

    return {"concat": joined, "repeat": twice, "reshape": turned, "broadcast": column,
            "load": lambda x, y: x}  # fmt: skip
