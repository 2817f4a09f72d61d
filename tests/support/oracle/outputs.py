"""What a random program writes: blocks of a grid, regions of one turn, sums, scattered rows."""

from __future__ import annotations

from support.oracle.accesses import ended, masked, start
from support.oracle.dtypes import DTYPES
from support.oracle.expressions import expression, number, settle, to_dtype
from support.oracle.scope import Made, Scope, Variable
from support.oracle.statements import some_dtype, some_shape
from support.oracle.tree import Affine, Expr, Scatter, Shape, Stmt, Store, Sub, Tensor

_FUNCTIONS = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf")


def outputs(s: Scope) -> tuple[list[Stmt], tuple[str, ...]]:
    """Statements that write all tensors, and those that are not exact."""
    stmts: list[Stmt] = []
    loose: list[str] = []
    shown = [v for v in s.variables if len(v.shape) > 0]
    s.random.shuffle(shown)
    for _ in range(s.random.randint(1, s.profile.outputs)):
        ways = [_block, _block, _sum, _updated, _loose, _scattered]
        way = s.random.choice(ways)
        stmt = way(s, shown.pop() if shown else None)
        stmts.append(stmt)
        if way is _loose:
            loose.append(stmt.tensor)
    return stmts, tuple(loose)


def _value(s: Scope, v: Variable | None, dtype: str, shape: Shape) -> Made:
    """Of a variable where there is one of that shape."""
    if v is not None and v.shape == shape:
        x = Made(Expr("variable", v.dtype, v.shape, (), (v.name,)), v.high, v.low)
        return x if v.dtype == dtype else to_dtype(s, x, dtype)
    return expression(s, dtype, shape, 2)


def _place(s: Scope, v: Variable | None) -> tuple[tuple[int | str, ...], tuple[Sub, ...], Shape]:
    """The extents of an output, the region that a turn writes, and its shape."""
    if s.grid:
        extents: list[int | str] = [dim for _, dim, _ in s.grid]
        subs = [Sub("slice", Affine(0, ((1, name),)), n) for name, _, n in s.grid]
        shape = [n for _, _, n in s.grid]
        if s.chance(0.2):
            more, at = s.random.choice((1, 2, 3, 5, 8)), s.random.randint(0, len(shape))
            extents.insert(at, more)
            subs.insert(at, Sub("all"))
            shape.insert(at, more)
        return tuple(extents), tuple(subs), tuple(shape)
    shape = list(v.shape if v is not None else some_shape(s))
    extents = [n if s.chance(0.4) else s.random.choice((1, 3, 8, 17, *s.dims)) for n in shape]
    subs = [
        Sub("all")
        if n == e and s.chance(0.5)
        else Sub("slice", start(s, e, n), n, s.random.choice((1, 1, 1, 2)))
        for n, e in zip(shape, extents, strict=True)
    ]
    return tuple(extents), tuple(subs), tuple(shape)


def _tensor(s: Scope, dtype: str, extents: tuple[int | str, ...], mode: str) -> Tensor:
    d = DTYPES[dtype]
    low = d.bits < 8 and d.kind in ("int", "uint", "float")
    packed = low and s.chance(0.4) and not s.profile.lacks & {"packed", "packed out"}
    strided = not low and s.chance(0.1) and "strided" not in s.profile.lacks
    draw = "plain" if d.is_float else "any"
    made = Tensor(s.name("y"), dtype, extents, mode, draw, strided, packed)
    s.tensors.append(made)
    return made


def _block(s: Scope, v: Variable | None) -> Store:
    extents, subs, shape = _place(s, v)
    dtype = v.dtype if v is not None and s.chance(0.6) else some_dtype(s)
    value = _value(s, v, dtype, shape)
    tensor = _tensor(s, dtype, extents, "out")
    return Store(tensor.name, _ended(s, subs, extents), value.expr, where=_mask(s, shape))


def _mask(s: Scope, shape: Shape) -> Expr | None:
    return masked(s, shape, lambda s, less: expression(s, "bool", less, 1).expr)


def _ended(s: Scope, subs: tuple[Sub, ...], extents: tuple[int | str, ...]) -> tuple[Sub, ...]:
    return tuple(ended(s, sub, e) for sub, e in zip(subs, extents, strict=True))


def _updated(s: Scope, v: Variable | None) -> Store:
    """A region of an inout tensor from what it held."""
    extents, subs, shape = _place(s, v)
    dtype = s.random.choice(
        [d for d in ("i32", "f32", "u8", "i16", "f16") if d in s.profile.dtypes]
    )
    value = settle(_value(s, v, dtype, shape))
    tensor = _tensor(s, dtype, extents, "inout")
    old = Expr("load", dtype, shape, (), (tensor.name, subs, None))
    new = Expr("-", dtype, shape, (old, value.expr))
    return Store(tensor.name, _ended(s, subs, extents), new, where=_mask(s, shape))


def _sum(s: Scope, v: Variable | None) -> Store:
    """A region to which all turns add."""
    extents, subs, shape = _place(s, v)
    some = ["i32", "u32", "f32"]
    if "narrow +=" not in s.profile.lacks:
        some += ["i8", "u16"]
    dtype = s.random.choice(some)
    if s.chance(0.4):
        extents = tuple(n for n in shape)
        subs = (Sub("all"),) * len(shape)
    value = settle(_value(s, v, dtype, shape))
    tensor = _tensor(s, dtype, extents, "inout")
    subs = _ended(s, subs, extents)
    return Store(tensor.name, subs, value.expr, s.random.choice(("+", "+", "-")))


def _loose(s: Scope, v: Variable | None) -> Store:
    """A function whose last bits are open, of numbers that are known."""
    extents, subs, shape = _place(s, v)
    dtype = s.random.choice(
        [d for d in ("f32", "f32", "f16", "bf16", "f64") if d in s.profile.dtypes]
    )
    value, op = settle(_value(s, v, dtype, shape)).expr, s.random.choice(_FUNCTIONS)
    if op in ("log", "log2", "sqrt", "rsqrt"):
        whole = Expr("abs", dtype, shape, (value,))
        value = Expr("+", dtype, shape, (whole, number(1.0, dtype)))
    tensor = _tensor(s, dtype, extents, "out")
    return Store(tensor.name, subs, Expr(op, dtype, shape, (value,)))


def _scattered(s: Scope, v: Variable | None) -> Store | Scatter:
    """Rows in an order of their own; no two have one number."""
    dtype = some_dtype(s)
    if dtype == "e8m0" or DTYPES[dtype].bits < 8:
        return _block(s, v)
    n = s.grid[0][2] if s.grid else s.random.choice((3, 5, 8))
    width = s.random.choice((1, 3, 8))
    count = Expr("arange", "i32", (n,))
    if s.grid:
        first = Expr("affine", "i32", (), (), (Affine(0, ((1, s.grid[0][0]),)),))
        ids = Expr("+", "i32", (n,), (first, count))
        if len(s.grid) == 2:
            return _block(s, v)
    else:
        times = Expr("*", "i32", (n,), (count, number(s.random.choice((1, 3, 5)), "i32")))
        ids = Expr("%", "i32", (n,), (times, number(8, "i32")))
    extents: tuple[int | str, ...] = (s.grid[0][1] if s.grid else 7, width)
    value = expression(s, dtype, (n, width), 1)
    tensor = _tensor(s, dtype, extents, "inout")
    return Scatter(tensor.name, (Sub("all"), Sub("slice", Affine(), width)), ids, value.expr, 0)
