"""Random expressions of a wanted dtype and shape, whose values the oracle knows exactly."""

from __future__ import annotations

import math
from collections.abc import Callable

from support.oracle.accesses import gather, load
from support.oracle.dtypes import DTYPES, is_small
from support.oracle.scope import INF, Made, Scope, range_of, top_grain
from support.oracle.shapes import dropped, stretched
from support.oracle.tree import Affine, Expr, Shape

_COMPARE = ("==", "!=", "<", "<=", ">", ">=")


def settle(x: Made, high: int = 3, low: int = 0) -> Made:
    """Whole numbers from -8 to 8 in place of what may be larger or finer; NaN stays."""
    d = DTYPES[x.dtype]
    if (x.high <= high and x.low >= low) or not (d.is_float and d.computes):
        return x
    e = x.expr
    whole = Expr("round", e.dtype, e.shape, (e,)) if x.low < 0 else e
    ends = (number(-8.0, e.dtype), number(8.0, e.dtype))
    return Made(Expr("clamp", e.dtype, e.shape, (whole, *ends)), 3, 0)


def number(value: int | float | bool, dtype: str) -> Expr:
    return Expr("number", dtype, (), (), (value,))


def literal(s: Scope, dtype: str) -> Made:
    """A weak number of a dtype."""
    d = DTYPES[dtype]
    if d.is_float:
        value = s.random.choice((0.0, 1.0, 2.0, -1.0, 0.5, -3.0, 0.25, 4.0))
        return Made(number(value, dtype), 2, -2)
    if d.kind == "bool":
        return Made(number(s.chance(0.5), dtype))
    some = [v for v in (0, 1, 2, 3, -1, -5, 7, d.least, d.greatest) if d.least <= v <= d.greatest]
    return Made(number(s.random.choice(some), dtype), d.bits)


def expression(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    """An expression of that dtype and shape."""
    if depth <= 0 or s.chance(0.1):
        return leaf(s, dtype, shape)
    ways = [_shaped] if shape else []
    d = DTYPES[dtype]
    if d.kind == "bool":
        ways += [_compared] * 5 + [_logical] * 2 + [_cast] + ([_any] if shape else [])
    elif s.profile.computes(dtype):
        ways += [_binary] * 4 + [_unary, _where, _extreme, _cast, _cast]
        ways += [_reduced] * 2 + ([_cumsum] if shape else [])
        if dtype in ("i32", "f32", "f64") and len(shape) >= 2:
            ways += [_dot] * 3
        if dtype == "i32":
            ways.append(_arg_extreme)
        if d.is_float and shape:
            ways.append(_fused)
    else:
        ways += [_cast] * 2
    return s.random.choice(ways)(s, dtype, shape, depth)


def _mask(s: Scope, shape: Shape) -> Expr:
    return expression(s, "bool", shape, 0).expr


def leaf(s: Scope, dtype: str, shape: Shape) -> Made:
    """A variable, a load, or a constant tile."""
    known = [v for v in s.variables if v.dtype == dtype and v.shape == shape]
    if known and s.chance(0.6):
        v = s.random.choice(known)
        return Made(Expr("variable", dtype, shape, (), (v.name,)), v.high, v.low)
    computes = s.profile.computes(dtype) or dtype == "bool"
    if not shape:
        one = load(s, dtype, ())
        return one or _scalar(s, dtype)
    if computes and s.chance(0.08):
        x = literal(s, dtype)
        return Made(Expr("full", dtype, shape, (x.expr,)), x.high, x.low)
    if dtype == "i32" and len(shape) == 1 and s.chance(0.3):
        return Made(Expr("arange", dtype, shape), 32)
    found = gather(s, dtype, shape, _ids) if s.chance(0.12) else load(s, dtype, shape, _mask)
    if found is not None:
        return found
    other = [v for v in s.variables if v.shape == shape and v.dtype != dtype]
    if other:
        v = s.random.choice(other)
        return to_dtype(
            s, Made(Expr("variable", v.dtype, shape, (), (v.name,)), v.high, v.low), dtype
        )
    near = [t.dtype for t in s.tensors if t.mode == "in" and len(t.extents) >= len(shape)]
    found = load(s, s.random.choice(near), shape) if near else None
    if found is None or "e8m0" in (found.dtype, dtype):
        value = number(s.random.randint(-4, 4), "i32")
        found = Made(Expr("full", "i32", shape, (value,)), 4)
    return found if found.dtype == dtype else to_dtype(s, found, dtype)


def _scalar(s: Scope, dtype: str) -> Made:
    """A scalar that has a dtype; numbers alone are weak, and are computed as Python's."""
    own = dtype if s.profile.computes(dtype) or dtype == "bool" else "f32"
    x = literal(s, own)
    line = Expr("full", own, (1,), (x.expr,))
    op = "any" if own == "bool" else "max"
    made = Made(Expr(op, own, (), (line,), (None, False)), x.high, x.low)
    return made if own == dtype else to_dtype(s, made, dtype)


def _ids(s: Scope, shape: Shape) -> Expr:
    x = expression(s, s.random.choice(("i32", "i32", "u8", "i16")), shape, 1).expr
    if x.dtype == "u8":
        return Expr("%", x.dtype, shape, (x, number(s.random.randint(2, 30), x.dtype)))
    modulo = Expr("%", x.dtype, shape, (x, number(s.random.randint(2, 30), x.dtype)))
    return Expr("-", x.dtype, shape, (modulo, number(1, x.dtype)))


def to_dtype(s: Scope, x: Made, dtype: str) -> Made:
    """A cast, and what it does to the bounds."""
    saturate = s.chance(0.4)
    d, source = DTYPES[dtype], DTYPES[x.dtype]
    made = Expr("cast", dtype, x.expr.shape, (x.expr,), (saturate,))
    if not d.is_float:
        return Made(made, *range_of(dtype))
    high, low = (x.high, x.low) if source.is_float or source.kind == "scale" else (source.bits, 0)
    top, grain = range_of(dtype)
    if high > top:
        high = top if d.specials != "ieee" else INF
        low = min(low, top_grain(dtype))
    return Made(made, high, max(low, grain))


def _cast(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    names = [n for n in s.profile.dtypes if n != dtype]
    near = [n for n in names if is_small(DTYPES[n]) or DTYPES[n].bits < 8]
    source = s.random.choice(near if s.chance(0.5) else names)
    if dtype == "e8m0":
        source = s.random.choice(("f32", "bf16", "f16"))
        source = source if source in s.profile.dtypes else "f32"
    if source == "e8m0" and not DTYPES[dtype].is_float:
        source = "i8"
    x = expression(s, source, shape, depth - 1)
    if DTYPES[dtype].kind == "bool" and DTYPES[source].is_float:
        x = settle(x)
    return to_dtype(s, x, dtype)


def _operand(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    """Something that broadcasts to a shape: a tile, a stretched one, a number, a scalar."""
    roll = s.random.random()
    if roll < 0.15:
        return literal(s, dtype)
    if roll < 0.22:
        mine = [(n, v) for n, t, v in s.scalars if t == dtype]
        if mine:
            return Made(Expr("variable", dtype, (), (), (mine[0][0],)), 3, -1)
    loops = [name for name, _ in s.loops if not name.startswith("w")]  # those of while are i32
    if roll < 0.28 and loops and dtype in ("i16", "i32", "f32"):
        return Made(Expr("affine", dtype, (), (), (Affine(0, ((1, loops[-1]),)),)), 8)
    inner = stretched(s.random, shape) if s.chance(0.35) else shape
    return expression(s, dtype, inner, depth - 1)


def _pair(s: Scope, dtype: str, shape: Shape, depth: int) -> tuple[Made, Made]:
    x = expression(s, dtype, shape, depth - 1)
    y = _operand(s, dtype, shape, depth)
    return (y, x) if s.chance(0.3) else (x, y)


def _binary(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    if not DTYPES[dtype].is_float:
        return _integers(s, dtype, shape, depth)
    x, y = _pair(s, dtype, shape, depth)
    op = s.random.choice(("+", "-", "*", "+", "-", "*", "/", "//", "%"))
    if op in ("/", "//", "%"):
        x = settle(x if x.expr.shape == shape else y, 6, -6)
        value = s.random.choice((2.0, 4.0, 0.5, -2.0) if op == "/" else (2.0, 3.0, -2.0, 0.5, -3.0))
        e = Expr(op, dtype, shape, (x.expr, number(value, dtype)))
        return Made(e, 3 if op == "%" else x.high + 2, x.low - 2 if op == "/" else min(x.low, -1))
    if op == "*" and (x.high + y.high > 60 or x.low + y.low < -60):
        x, y = settle(x), settle(y)
    if x.low < -60 or y.low < -60:
        x, y = settle(x), settle(y)
    high = x.high + y.high if op == "*" else max(x.high, y.high) + 1
    low = x.low + y.low if op == "*" else min(x.low, y.low)
    if high > DTYPES[dtype].bias + 1:
        high = INF
    return Made(Expr(op, dtype, shape, (x.expr, y.expr)), high, max(low, DTYPES[dtype].grain))


def _fused(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    """x * y + z of small whole numbers, which no machine rounds."""
    x, y = (settle(v).expr for v in _pair(s, dtype, shape, depth))
    z = settle(_operand(s, dtype, shape, depth)).expr
    return Made(Expr("fma", dtype, shape, (x, y, z)), 7, 0)


def _integers(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    d = DTYPES[dtype]
    op = s.random.choice(("+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>", "**"))
    if op in ("+", "-", "*", "&", "|", "^"):
        x, y = _pair(s, dtype, shape, depth)
        return Made(Expr(op, dtype, shape, (x.expr, y.expr)), d.bits)
    x = expression(s, dtype, shape, depth - 1)
    values = {"//": (3, 1, 2, -2, 5, 7), "%": (3, 2, -2, 5, 4, 7), "**": (0, 1, 2, 3),
              "<<": range(d.bits), ">>": range(d.bits)}[op]  # fmt: skip
    some = [v for v in values if d.least <= v <= d.greatest and (v != 0 or op not in ("//", "%"))]
    if not some:
        return x
    y = number(s.random.choice(some), dtype)
    return Made(Expr(op, dtype, shape, (x.expr, y)), d.bits)


def _unary(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    x = expression(s, dtype, shape, depth - 1)
    if DTYPES[dtype].is_float:
        op = s.random.choice(("neg", "abs", "floor", "ceil", "round"))
        low = x.low if op in ("neg", "abs") else max(x.low, 0)
        return Made(Expr(op, dtype, shape, (x.expr,)), x.high + (low > x.low), low)
    op = s.random.choice(("neg", "abs", "invert"))
    return Made(Expr(op, dtype, shape, (x.expr,)), x.high)


def _where(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    inner = stretched(s.random, shape) if s.chance(0.3) else shape
    cond = expression(s, "bool", inner, depth - 1)
    x, y = _pair(s, dtype, shape, depth)
    made = Expr("where", dtype, shape, (cond.expr, x.expr, y.expr))
    if not shape:
        made = Expr("select", dtype, shape, made.args)
    return Made(made, max(x.high, y.high), min(x.low, y.low))


def _extreme(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    x, y = _pair(s, dtype, shape, depth)
    made = Expr(s.random.choice(("maximum", "minimum")), dtype, shape, (x.expr, y.expr))
    return Made(made, max(x.high, y.high), min(x.low, y.low))


def _compared(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    some = [n for n in s.profile.dtypes if s.profile.computes(n)]
    x, y = _pair(s, s.random.choice(some), shape, depth)
    return Made(Expr(s.random.choice(_COMPARE), "bool", shape, (x.expr, y.expr)))


def _logical(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    x = expression(s, "bool", shape, depth - 1).expr
    if not shape:
        return Made(Expr("not", "bool", shape, (x,)))
    if s.chance(0.25):
        return Made(Expr("invert", "bool", shape, (x,)))
    y = expression(s, "bool", shape, depth - 1).expr
    return Made(Expr(s.random.choice(("&", "|", "^")), "bool", shape, (x, y)))


def _reduction(s: Scope, shape: Shape) -> tuple[Shape, int | None, bool]:
    """The shape of what is reduced to `shape`, the axis, and whether it is kept."""
    if not shape and s.chance(0.5):
        return s.random.choice(((8,), (4, 4), (3, 5))), None, False
    extent = s.random.choice((1, 2, 3, 4, 5, 8, 16))
    while extent > 1 and math.prod(shape) * extent > s.profile.most:
        extent //= 2
    ones = [i for i, e in enumerate(shape) if e == 1]
    if ones and s.chance(0.6):
        i = s.random.choice(ones)
        return (*shape[:i], extent, *shape[i + 1 :]), i, True
    if len(shape) >= 3:
        i = s.random.choice(range(len(shape)))
        return (*shape[:i], extent, *shape[i + 1 :]), None, True
    i = s.random.randint(0, len(shape))
    return (*shape[:i], extent, *shape[i:]), i - (len(shape) + 1 if s.chance(0.3) else 0), False


def _reduced(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    inner, axis, keep = _reduction(s, shape)
    if axis is None and keep:
        return leaf(s, dtype, shape)
    x = expression(s, dtype, inner, depth - 1)
    op, d = s.random.choice(("sum", "sum", "max", "min")), DTYPES[dtype]
    count = math.prod(inner) // max(math.prod(shape), 1)
    x, high = _summable(x, count, dtype) if op == "sum" else (x, x.high)
    if d.is_float and x.high + math.log2(count) - x.low > d.mantissa + 1 and op == "sum":
        op, high = "max", x.high
    return Made(Expr(op, dtype, shape, (x.expr,), (axis, keep)), high, x.low)


def _summable(x: Made, count: int, dtype: str) -> tuple[Made, int]:
    """A tile of which `count` elements may be added exactly, and the bound of the sum."""
    more = math.ceil(math.log2(max(count, 1)))
    if DTYPES[dtype].is_float and x.high + more - x.low > min(DTYPES[dtype].mantissa, 14):
        x = settle(x)
    return x, x.high + more


def _cumsum(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    axis = s.random.randrange(-len(shape), len(shape))
    x, high = _summable(expression(s, dtype, shape, depth - 1), shape[axis], dtype)
    d = DTYPES[dtype]
    if d.is_float and high - x.low > d.mantissa + 1:
        return x
    return Made(Expr("cumsum", dtype, shape, (x.expr,), (axis,)), high, x.low)


def _any(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    inner, axis, keep = _reduction(s, shape)
    if axis is None and keep:
        return leaf(s, dtype, shape)
    x = expression(s, "bool", inner, depth - 1).expr
    return Made(Expr(s.random.choice(("any", "all")), "bool", shape, (x,), (axis, keep)))


def _arg_extreme(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    inner, axis, keep = _reduction(s, shape)
    if axis is None:
        return leaf(s, dtype, shape)
    source = s.random.choice([n for n in s.profile.dtypes if s.profile.computes(n)])
    x = expression(s, source, inner, depth - 1).expr
    return Made(Expr(s.random.choice(("argmax", "argmin")), "i32", shape, (x,), (axis, keep)), 32)


def product_dtypes(s: Scope, dtype: str) -> tuple[str, str]:
    """Two dtypes whose product has `dtype`."""
    names = s.profile.dtypes
    if dtype == "f64":
        return "f64", "f64"
    if dtype == "i32":
        some = [n for n in names if DTYPES[n].is_integer]
        return s.random.choice(some), s.random.choice(some)
    if s.chance(0.6):
        some = [n for n in ("f16", "bf16", "tf32", "f32") if n in names]
        return (s.random.choice(some),) * 2
    some = [n for n in names if is_small(DTYPES[n])]
    return s.random.choice(some), s.random.choice(some)


def _dot(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    k = s.random.choice((1, 2, 3, 4, 8, 16, 16))
    (*batch, m, n), how = shape, s.random.choice(("", "", "a", "b", "ab"))
    left, right = product_dtypes(s, dtype)
    first = (k, m) if "a" in how else (m, k)
    second = (n, k) if "b" in how else (k, n)
    front = dropped(s.random, tuple(batch))
    x = factor(s, left, (*batch, *first), depth - 1)
    y = factor(s, right, (*front, *second), depth - 1)
    made = Expr("dot", dtype, shape, (x.expr, y.expr), (how,))
    return Made(made, x.high + y.high + math.ceil(math.log2(k)), x.low + y.low)


def factor(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    """An operand of a product whose sums are exact."""
    d = DTYPES[dtype]
    if not d.is_float:
        return expression(s, dtype, shape, depth)
    if d.computes:
        return settle(expression(s, dtype, shape, depth))
    if d.bits <= 8 and range_of(dtype)[0] - range_of(dtype)[1] <= 8 and s.chance(0.5):
        return leaf(s, dtype, shape)
    x = settle(expression(s, "f32", shape, depth))
    return to_dtype(s, x, dtype)


def _shaped(s: Scope, dtype: str, shape: Shape, depth: int) -> Made:
    from support.oracle.shapes import WAYS

    def inner(wanted: Shape) -> Made:
        return expression(s, dtype, wanted, depth - 1)

    way: Callable[..., Made | None] = s.random.choice(WAYS)
    return way(s, dtype, shape, inner) or leaf(s, dtype, shape)
