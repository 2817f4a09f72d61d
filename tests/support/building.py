"""A small builder of Tile IR for tests: instructions are appended as they are called."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, F32, I32, INDEX, DType, parse_dtype
from dslc.compiler.ir import (
    AxisSlice,
    GridAxis,
    Kernel,
    Memory,
    Place,
    Region,
    Requirement,
    Role,
    TileType,
    Value,
)
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

COMPARE = ex.COMPARE_OPS


def dt(name: str | DType) -> DType:
    found = name if isinstance(name, DType) else parse_dtype(name)
    assert found is not None, name
    return found


def lift(x) -> ex.Expr:
    if isinstance(x, bool):
        return ex.Const(x, BOOL)
    return ex.index(x) if isinstance(x, int) else x


def var(name: str, dtype: str | DType = INDEX) -> ex.Var:
    return ex.Var(name, dt(dtype))


def op(name: str, x, y) -> ex.Expr:
    x, y = lift(x), lift(y)
    return ex.Binary(name, x, y, BOOL if name in COMPARE else x.dtype)


def const(value, dtype: str | DType) -> ex.Expr:
    return ex.Const(value, dt(dtype))


class Builder:
    """Collects params and statements; each statement's Loc counts up from line 1 of t.tile."""

    def __init__(self) -> None:
        self.params: list[Memory | ex.Var] = []
        self.workspaces: list[Memory] = []
        self.body: list[ins.Stmt] = []
        self.lines = 0

    # Memories

    def tensor(self, name, dtype, shape, role=Role.IN, **more) -> Memory:
        m = Memory(name, dt(dtype), tuple(map(lift, shape)), role, Place.GLOBAL, **more)
        self.params.append(m)
        return m

    def out(self, name, dtype, shape, **more) -> Memory:
        return self.tensor(name, dtype, shape, Role.OUT, **more)

    def workspace(self, name, dtype, shape) -> Memory:
        m = Memory(name, dt(dtype), tuple(map(lift, shape)), Role.WORKSPACE, Place.GLOBAL)
        self.workspaces.append(m)
        return m

    def buffer(self, name, dtype, shape, place=Place.SHARED, **more) -> Memory:
        m = Memory(name, dt(dtype), tuple(map(lift, shape)), Role.BUFFER, place, **more)
        self.add(ins.Alloc(m, loc=self.loc()))
        return m

    def scalar(self, name, dtype) -> ex.Var:
        v = var(name, dtype)
        self.params.append(v)
        return v

    def integer(self, name) -> ex.Expr:
        """A scalar parameter as an index."""
        return ex.Convert(self.scalar(name, "i64"), INDEX)

    # Statements

    def loc(self) -> Loc:
        self.lines += 1
        return Loc("t.tile", self.lines, 1)

    def add(self, stmt):
        self.body.append(stmt)
        return getattr(stmt, "out", None)

    def value(self, dtype, shape, layout=None, name="") -> Value:
        return Value(TileType(dt(dtype), tuple(shape), layout), name)

    def load(self, region, other=None, layout=None) -> Value:
        out = self.value(region.memory.dtype, region.shape, layout)
        return self.add(ins.Load(out, region, other, loc=self.loc()))

    def store(self, region, x) -> None:
        self.add(ins.Store(region, x, loc=self.loc()))

    def full(self, dtype, shape, value) -> Value:
        value = value if not isinstance(value, int | float) else const(value, dtype)
        return self.add(ins.Full(self.value(dtype, shape), value, loc=self.loc()))

    def undefined(self, dtype, shape, name="") -> Value:
        return self.add(ins.Undefined(self.value(dtype, shape, name=name), loc=self.loc()))

    def arange(self, n) -> Value:
        return self.add(ins.Arange(self.value(I32, [n]), loc=self.loc()))

    def unary(self, name, x) -> Value:
        return self.add(ins.Unary(self.value(x.type.dtype, x.type.shape), name, x, loc=self.loc()))

    def binary(self, name, x, y) -> Value:
        dtype = BOOL if name in COMPARE else x.type.dtype
        return self.add(ins.Binary(self.value(dtype, x.type.shape), name, x, y, loc=self.loc()))

    def cast(self, x, dtype, saturate=False) -> Value:
        out = self.value(dtype, x.type.shape)
        return self.add(ins.Cast(out, x, saturate, loc=self.loc()))

    def broadcast(self, x, shape) -> Value:
        return self.add(ins.Broadcast(self.value(x.type.dtype, shape), x, loc=self.loc()))

    def repeat(self, x, times, axis) -> Value:
        shape = [s * times if a == axis else s for a, s in enumerate(x.type.shape)]
        out = self.value(x.type.dtype, shape)
        return self.add(ins.Repeat(out, x, times, axis, loc=self.loc()))

    def reduce(self, name, x, axis, keepdims=False, dtype=None) -> Value:
        shape = list(x.type.shape)
        shape[axis : axis + 1] = [1] if keepdims else []
        out = self.value(dtype or x.type.dtype, shape)
        return self.add(ins.Reduce(out, name, x, axis, keepdims, loc=self.loc()))

    def dot(self, a, b, acc=None, dtype=F32) -> Value:
        shape = (*a.type.shape[:-1], b.type.shape[-1])
        return self.add(ins.Dot(self.value(dtype, shape), a, b, acc, loc=self.loc()))

    def atomic_add(self, region, x, out=False) -> Value | None:
        before = self.value(region.memory.dtype, region.shape) if out else None
        self.add(ins.AtomicRmw("add", region, x, out=before, loc=self.loc()))
        return before

    def let(self, name, value) -> ex.Var:
        v = var(name, lift(value).dtype)
        self.add(ins.Let(v, lift(value), loc=self.loc()))
        return v

    # Nesting

    @contextmanager
    def nested(self) -> Iterator[list[ins.Stmt]]:
        outer, self.body = self.body, []
        try:
            yield self.body
        finally:
            self.body = outer

    @contextmanager
    def loop(self, name, start, stop, step=1, carried: Sequence[tuple] = ()):
        """Yields (var, inner values, results, yields): append what each iteration hands on."""
        v, inner, results, yields = var(name), [], [], []
        for init in carried:
            for names in (inner, results):
                names.append(
                    Value(init.type)
                    if isinstance(init, Value)
                    else var(f"c{id(names)}_{len(names)}", lift(init).dtype)
                )
        with self.nested() as body:
            yield v, inner, results, yields
        pieces = zip(results, inner, carried, yields, strict=True)
        threads = tuple(
            ins.Carried(
                r, i, a if isinstance(a, Value) else lift(a), y if isinstance(y, Value) else lift(y)
            )
            for r, i, a, y in pieces
        )
        bounds = (lift(start), lift(stop), lift(step))
        self.add(ins.For(v, *bounds, tuple(body), threads, loc=self.loc()))

    @contextmanager
    def when(self, condition):
        with self.nested() as body:
            yield
        self.add(ins.If(condition, tuple(body), loc=self.loc()))

    def kernel(self, grid=(), requires=(), name="k") -> Kernel:
        """`grid`: (name, start, stop, step) each; dims are the free variables of the shapes."""
        found: dict[ex.Var, None] = {}
        for p in self.params:
            if isinstance(p, Memory):
                for e in (*p.shape, *(p.strides or ())):
                    found.update(dict.fromkeys(sorted(ex.free_vars(e), key=lambda v: v.name)))
        axes = tuple(GridAxis(var(n), *map(lift, bounds)) for n, *bounds in grid)
        conditions = tuple(Requirement(c, t) for c, t in requires)
        return Kernel(
            name, tuple(self.params), tuple(found), axes, tuple(self.body),
            requires=conditions, workspaces=tuple(self.workspaces),
        )  # fmt: skip


def at(memory: Memory, *axes, checked=True) -> Region:
    """A region: an axis is (start, size), (start, size, step) or an integer index."""
    slices = []
    for a in axes:
        if isinstance(a, tuple):
            start, size, *step = a
            slices.append(AxisSlice(lift(start), size, *step, checked=checked))
        else:
            slices.append(AxisSlice(lift(a), 1, dropped=True, checked=checked))
    return Region(memory, tuple(slices))


def whole(memory: Memory) -> Region:
    return at(memory, *((0, e.value) for e in memory.shape))


def random_codes(dtype: DType, shape, rng: np.random.Generator) -> np.ndarray:
    """Codes of finite values in storage form."""
    from dslc.compiler.dtypes import encode, storage_dtype

    if dtype.is_float:
        return encode(rng.normal(size=shape).astype(np.float32), dtype)
    if dtype == BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    low, high = dtype.integer_range
    return rng.integers(
        low, high, shape, dtype=np.int64 if low < 0 else np.uint64, endpoint=True
    ).astype(storage_dtype(dtype))
