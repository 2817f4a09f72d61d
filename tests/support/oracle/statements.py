"""Random statements: names that loops and branches carry, buffers, products that are summed."""

from __future__ import annotations

import math
from collections.abc import Callable

from support.oracle.dtypes import DTYPES
from support.oracle.expressions import expression, factor, number, product_dtypes, settle
from support.oracle.scope import Scope, Variable
from support.oracle.tree import (
    Affine,
    Assign,
    Buffer,
    Expr,
    For,
    If,
    Shape,
    Stmt,
    Store,
    Sub,
    Swap,
    Tensor,
    While,
)

_FAVOURED = ("i32", "f32", "f16", "bf16", "i8", "u8", "i16", "u32", "bool")
_SIZES = (1, 2, 3, 4, 5, 7, 8, 16)


def some_dtype(s: Scope) -> str:
    """A dtype: mostly one of the usual ones."""
    names = [n for n in _FAVOURED if n in s.profile.dtypes] if s.chance(0.6) else s.profile.dtypes
    return s.random.choice(names)


def some_shape(s: Scope) -> Shape:
    """The shape of the turn's block, of a variable, or any."""
    own = tuple(b for _, _, b in s.grid)
    if own and s.chance(0.6):
        return own
    if s.variables and s.chance(0.5):
        return s.random.choice(s.variables).shape
    shape = [s.random.choice(_SIZES) for _ in range(s.random.choice((1, 2, 2, 2, 3)))]
    while math.prod(shape) > s.profile.most:
        shape.remove(max(shape))
    return tuple(shape)


def block(s: Scope, count: int, depth: int) -> tuple[Stmt, ...]:
    """Some statements; names that they make stay in scope."""
    out: list[Stmt] = []
    for _ in range(count):
        ways: list[Callable[[Scope, int], list[Stmt]]] = [_named, _mutable, _again, _again, _buffer]
        if depth < 2:
            ways += [_for, _for, _if, _sum_of_products, _while]
        out += s.random.choice(ways)(s, depth)
    return tuple(out)


def nested(
    s: Scope, count: int, depth: int, loop: tuple[str, int] | None = None
) -> tuple[Stmt, ...]:
    """The body of a loop or branch: its names end with it."""
    variables, buffers = list(s.variables), list(s.buffers)
    if loop:
        s.loops.append(loop)
    body = _again(s, depth + 1)
    body += block(s, count, depth + 1)
    if loop:
        s.loops.pop()
    s.variables, s.buffers = variables, buffers
    return tuple(body)


def _named(s: Scope, depth: int) -> list[Stmt]:
    made = expression(s, some_dtype(s), some_shape(s), 2)
    name = s.name("t")
    shape = made.expr.shape
    s.variables.append(Variable(name, made.dtype, shape, made.high, made.low, False))
    return [Assign(name, made.expr)]


def _mutable(s: Scope, depth: int) -> list[Stmt]:
    made = settle(expression(s, some_dtype(s), some_shape(s), 2))
    name = s.name("v")
    variable = Variable(name, made.dtype, made.expr.shape, made.high, made.low, True)
    if DTYPES[made.dtype].is_float and DTYPES[made.dtype].computes:
        variable = Variable(name, made.dtype, made.expr.shape, 3, 0, True)
    s.variables.append(variable)
    return [Assign(name, made.expr)]


def _assignable(s: Scope) -> list[Variable]:
    computing = [v for v in s.variables if v.mutable]
    return [v for v in computing if DTYPES[v.dtype].computes or not DTYPES[v.dtype].is_float]


def _again(s: Scope, depth: int) -> list[Stmt]:
    """A new value for a name."""
    some = [v for v in _assignable(s) if v.dtype != "e8m0"]
    if not some:
        return _mutable(s, depth)
    v = s.random.choice(some)
    same = [u for u in some if u != v and (u.dtype, u.shape) == (v.dtype, v.shape)]
    if same and s.chance(0.3):
        u = s.random.choice(same)
        old = Expr("variable", u.dtype, u.shape, (), (u.name,))
        return [Swap((v.name, u.name), (old, settle(expression(s, v.dtype, v.shape, 1)).expr))]
    made = settle(expression(s, v.dtype, v.shape, 2))
    if DTYPES[v.dtype].is_integer and s.profile.computes(v.dtype) and s.chance(0.4):
        return [Assign(v.name, made.expr, s.random.choice(("+", "-", "*", "^")))]
    return [Assign(v.name, made.expr)]


def _ends(s: Scope) -> tuple[Affine, Affine, int, int]:
    """Start, stop, step and the greatest value: up, down, dynamic, empty."""
    n = next((Affine(0, ((1, name),)) for name, d, _ in s.scalars if d == "i32"), Affine(3))
    zero = Affine()
    return s.random.choice((
        (zero, Affine(3), 1, 2), (zero, Affine(2), 1, 1), (Affine(3), zero, -1, 3),
        (Affine(2), Affine(-1), -1, 2), (zero, n, 1, 4), (n, Affine(-1), -2, 4),
        (Affine(1), Affine(9), 4, 5), (Affine(2), n, 1, 4), (Affine(3), Affine(3), 1, 0),
        (Affine(5), Affine(2), 1, 0), (n, n.plus(2), 1, 6),
    ))  # fmt: skip


def _for(s: Scope, depth: int) -> list[Stmt]:
    before = [] if _assignable(s) else _mutable(s, depth)
    start, stop, step, top = _ends(s)
    name = s.name("q")
    options = s.random.choice(("", "", "", ", unroll=2", ", stages=2"))
    body = nested(s, s.random.randint(0, 2), depth, (name, top))
    return [*before, For(name, start, stop, step, body, options)]


def _while(s: Scope, depth: int) -> list[Stmt]:
    before = [] if _assignable(s) else _mutable(s, depth)
    n = next((Affine(0, ((1, name),)) for name, d, _ in s.scalars if d == "i32"), None)
    if n is None:
        return [*before, *_again(s, depth)]
    name = s.name("w")
    return [*before, While(name, n.plus(s.random.randint(-1, 1)), nested(s, 1, depth, (name, 5)))]


def _condition(s: Scope) -> Expr:
    names = [n for n, _ in s.loops] + [g[0] for g in s.grid]
    names += [n for n, d, _ in s.scalars if d == "i32"]
    if names and s.chance(0.6):
        left = Expr("affine", "index", (), (), (Affine(0, ((1, s.random.choice(names)),)),))
        if s.chance(0.4):
            left = Expr("%", "index", (), (left, number(2, "index")))
        right = number(s.random.randint(0, 4), "index")
        return Expr(s.random.choice(("<", ">=", "==", "!=")), "bool", (), (left, right))
    return expression(s, "bool", (), 2).expr


def _if(s: Scope, depth: int) -> list[Stmt]:
    before = [] if _assignable(s) else _mutable(s, depth)
    then = nested(s, s.random.randint(0, 1), depth)
    other = nested(s, 0, depth) if s.chance(0.6) else ()
    return [*before, If(_condition(s), then, other)]


def _buffer(s: Scope, depth: int) -> list[Stmt]:
    """A new buffer that is filled, or a part of one that is written anew."""
    if s.buffers and s.chance(0.5):
        b = s.random.choice(s.buffers)
        subs, shape = [], []
        for e in b.extents:
            assert isinstance(e, int)
            n = s.random.randint(1, e)
            subs.append(Sub("slice", Affine(s.random.randint(0, e - n)), n))
            shape.append(n)
        value = settle(expression(s, b.dtype, tuple(shape), 1))
        return [Store(b.name, tuple(subs), value.expr)]
    dtype = some_dtype(s)
    if dtype == "e8m0" or (DTYPES[dtype].is_float and not DTYPES[dtype].computes):
        dtype = "f32"
    shape = some_shape(s)
    value = settle(expression(s, dtype, shape, 1))
    name = s.name("b")
    s.buffers.append(Tensor(name, dtype, shape, "buffer"))
    return [Buffer(name, dtype, shape), Store(name, (Sub("all"),) * len(shape), value.expr)]


def _sum_of_products(s: Scope, depth: int) -> list[Stmt]:
    """The loop of a product: `acc += dot(a, b)`."""
    dtype = s.random.choice([d for d in ("i32", "f32", "f32", "f64") if d in s.profile.dtypes])
    shape = tuple(s.random.choice(_SIZES) for _ in range(2))
    if len(s.grid) == 2 and s.chance(0.7):
        shape = tuple(b for _, _, b in s.grid)
    k = s.random.choice((1, 3, 4, 8, 16))
    left, right = product_dtypes(s, dtype)
    how = s.random.choice(("", "", "a", "b", "ab"))
    name, loop = s.name("acc"), s.name("k")
    trips = s.random.choice((1, 2, 3, 4))
    s.loops.append((loop, k * trips))
    x = factor(s, left, (k, shape[0]) if "a" in how else (shape[0], k), 1)
    y = factor(s, right, (shape[1], k) if "b" in how else (k, shape[1]), 1)
    s.loops.pop()
    product = Expr("dot", dtype, shape, (x.expr, y.expr), (how,))
    s.variables.append(Variable(name, dtype, shape, x.high + y.high + 6, x.low + y.low, False))
    body = (Assign(name, product, "+"),)
    return [
        Assign(name, Expr("zeros", dtype, shape)),
        For(loop, Affine(), Affine(k * trips), k, body),
    ]
