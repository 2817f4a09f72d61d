"""Random kernels of Tile IR: valid, without races, and worth running before and after a pass.

    @given(random_ir.kernels())
    def test_a_pass_keeps_the_meaning(kernel): ...

`inputs(kernel, seed)` gives arguments that satisfy the kernel's requirements.
"""

from __future__ import annotations

import math

import numpy as np
from dslc.compiler.dtypes import BOOL, F16, F32, I32, INDEX, storage_dtype
from dslc.compiler.ir import GridAxis, Kernel, Memory, Place, Requirement, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, Read, Var, index
from dslc.compiler.ir.values import AxisSlice, Region
from hypothesis import strategies as st

from strategies.random_scope import (
    ARITHMETIC,
    COMPARISONS,
    COMPUTING,
    MAX_ELEMENTS,
    SIZES,
    U4,
    UNARY,
    Scope,
    add,
)

SIMPLE = (
    "unary", "binary", "compare", "fma", "where", "cast", "reduce", "scan", "transpose", "reshape",
    "broadcast", "repeat", "concat", "extract", "dot", "load", "gather", "let", "full", "arange",
    "buffer", "reuse", "read", "atomic",
)  # fmt: skip


class Builder(Scope):
    """A kernel under construction, statement by statement."""

    def statement(self) -> None:
        deep = ["loop", "loop", "branch", "turns"] if self.depth < 2 else []
        getattr(self, f"make_{self.choose(*SIMPLE, *deep)}")()

    def make_full(self) -> None:
        self.full(self.choose(*COMPUTING), self.shape())

    def make_arange(self) -> None:
        self.emit(self.value(I32, self.shape(1)), ins.Arange)

    def make_unary(self) -> None:
        x = self.computing()
        op = self.choose(*UNARY[x.type.dtype])
        out = self.value(x.type.dtype, x.type.shape)
        self.emit(out, lambda out: ins.Unary(out, op, x))

    def make_binary(self) -> None:
        x = self.computing()
        y, op = self.like(x), self.choose(*ARITHMETIC[x.type.dtype])
        out = self.value(x.type.dtype, x.type.shape)
        self.emit(out, lambda out: ins.Binary(out, op, x, y))

    def make_compare(self) -> None:
        x = self.tile(lambda t: t.type.dtype in (F32, I32))
        y, op = self.like(x), self.choose(*COMPARISONS)
        self.emit(self.value(BOOL, x.type.shape), lambda out: ins.Binary(out, op, x, y))

    def make_fma(self) -> None:
        x = self.tile(lambda t: t.type.dtype == F32)
        y, z = self.like(x), self.like(x)
        self.emit(self.value(F32, x.type.shape), lambda out: ins.Fma(out, x, y, z))

    def make_where(self) -> None:
        x = self.computing()
        y, condition = self.like(x), self.tile_of(BOOL, x.type.shape)
        out = self.value(x.type.dtype, x.type.shape)
        self.emit(out, lambda out: ins.Where(out, condition, x, y))

    def make_cast(self) -> None:
        x, dtype = self.tile(), self.choose(*COMPUTING)
        out = self.value(dtype, x.type.shape)
        saturate = self.choose(False, True)
        self.emit(out, lambda out: ins.Cast(out, x, saturate))

    def make_reduce(self) -> None:
        x = self.tile(lambda t: t.type.rank >= 1 and t.type.dtype in (F32, I32))
        axis, keep = self.number(0, x.type.rank - 1), self.choose(False, True)
        op = self.choose("sum", "max", "min", "argmax", "argmin")
        shape = list(x.type.shape)
        shape[axis : axis + 1] = [1] if keep else []
        out = self.value(I32 if op.startswith("arg") else x.type.dtype, tuple(shape))
        self.emit(out, lambda out: ins.Reduce(out, op, x, axis, keep))

    def make_scan(self) -> None:
        x = self.tile(lambda t: t.type.rank >= 1 and t.type.dtype in (F32, I32))
        axis = self.number(0, x.type.rank - 1)
        out = self.value(x.type.dtype, x.type.shape)
        self.emit(out, lambda out: ins.Scan(out, "sum", x, axis))

    def make_transpose(self) -> None:
        x = self.tile(lambda t: t.type.rank == 2)
        out = self.value(x.type.dtype, x.type.shape[::-1])
        self.emit(out, lambda out: ins.Transpose(out, x, (1, 0)))

    def make_reshape(self) -> None:
        x = self.tile()
        shape = self.choose((math.prod(x.type.shape),), (1, *x.type.shape), x.type.shape)
        self.emit(self.value(x.type.dtype, shape), lambda out: ins.Reshape(out, x))

    def make_broadcast(self) -> None:
        x = self.tile(lambda t: t.type.rank <= 1)
        inner = tuple(self.choose(*SIZES) if n == 1 else n for n in x.type.shape)
        out = self.value(x.type.dtype, (self.choose(1, 2), *inner))
        self.emit(out, lambda out: ins.Broadcast(out, x))

    def make_repeat(self) -> None:
        x = self.tile(lambda t: t.type.rank >= 1 and math.prod(t.type.shape) <= MAX_ELEMENTS)
        axis, times = self.number(0, x.type.rank - 1), self.number(1, 2)
        shape = [n * (times if i == axis else 1) for i, n in enumerate(x.type.shape)]
        out = self.value(x.type.dtype, tuple(shape))
        self.emit(out, lambda out: ins.Repeat(out, x, times, axis))

    def make_concat(self) -> None:
        x = self.tile(lambda t: t.type.rank >= 1 and math.prod(t.type.shape) <= MAX_ELEMENTS)
        y, axis = self.like(x), self.number(0, x.type.rank - 1)
        shape = [n * (2 if i == axis else 1) for i, n in enumerate(x.type.shape)]
        out = self.value(x.type.dtype, tuple(shape))
        self.emit(out, lambda out: ins.Concat(out, (x, y), axis))

    def make_extract(self) -> None:
        x = self.tile(lambda t: t.type.rank >= 1)
        starts = tuple(self.number(0, n - 1) for n in x.type.shape)
        steps = tuple(self.number(1, 2) for _ in starts)
        dropped = (0,) if self.number(0, 1) else ()
        spans = zip(x.type.shape, starts, steps, strict=True)
        full = [-((s - n) // step) for n, s, step in spans]
        shape = tuple(n for i, n in enumerate(full) if i not in dropped)
        out = self.value(x.type.dtype, shape)
        self.emit(out, lambda out: ins.Extract(out, x, starts, steps, dropped))

    def make_dot(self) -> None:
        dtype = self.choose(F16, I32)
        m, k, n = (self.choose(1, 2, 4) for _ in range(3))
        a, b = self.tile_of(dtype, (m, k)), self.tile_of(dtype, (k, n))
        out = self.value(F32 if dtype == F16 else I32, (m, n))
        acc = self.tile_of(out.type.dtype, (m, n)) if self.number(0, 1) else None
        self.emit(out, lambda out: ins.Dot(out, a, b, acc))

    def make_load(self) -> None:
        memory = self.choose(*[m for m in self.memories if m.role is Role.IN])
        region = self.region(memory)
        other = self.constant(memory.dtype) if self.number(0, 2) == 0 else None
        if other is not None and memory.dtype == U4:
            other = Const(self.number(0, 15), U4)
        out = self.value(memory.dtype, region.shape)
        self.emit(out, lambda out: ins.Load(out, region, other))

    def make_gather(self) -> None:
        memory = self.choose(*[m for m in self.memories if m.role is Role.IN])
        ids = self.tile_of(I32, self.shape(1))
        axis = self.number(0, memory.rank - 1)
        axes = list(self.region(memory).axes)
        axes[axis] = AxisSlice(self.index(1), 1)
        sizes = [(ids.type.shape[0],) if i == axis else (a.size,) for i, a in enumerate(axes)]
        shape = tuple(s for (s,), a in zip(sizes, axes, strict=True) if not a.dropped)
        region = Region(memory, tuple(axes))
        out = self.value(memory.dtype, shape)
        self.emit(out, lambda out: ins.Gather(out, region, (ids,), (axis,)))

    def make_let(self) -> None:
        var = Var(self.name("s"), INDEX)
        self.body.append(ins.Let(var, self.index()))
        self.scalars.append(var)

    def make_read(self) -> None:
        x = self.tile(lambda t: t.type.dtype == I32)
        out = x
        while out.type.rank:
            out = self.emit(
                self.value(I32, out.type.shape[1:]),
                lambda new, old=out: ins.Reduce(new, self.choose("max", "min"), old, 0),
            )
        var = Var(self.name("r"), INDEX)
        self.body.append(ins.Let(var, Convert(Read(out), INDEX)))
        self.scalars.append(Binary("mod", var, index(8), INDEX))

    def make_buffer(self) -> None:
        """A buffer that is filled, changed in part, and read."""
        x = self.tile(lambda t: t.type.rank == 2 and t.type.dtype in (F32, I32))
        shape = tuple(map(index, x.type.shape))
        memory = Memory(
            self.choose("b", "c"), x.type.dtype, shape, Role.BUFFER, self.choose(None, Place.SHARED)
        )
        whole = Region(memory, tuple(AxisSlice(index(0), n) for n in x.type.shape))
        self.body += [ins.Alloc(memory), ins.Store(whole, x)]
        if self.number(0, 1):
            part = self.region(memory)
            self.body.append(ins.Store(part, self.tile_of(memory.dtype, part.shape)))
        self.buffers.append(memory)
        region = whole if self.number(0, 1) else self.region(memory)
        self.emit(self.value(memory.dtype, region.shape), lambda out: ins.Load(out, region))

    def make_reuse(self) -> None:
        """A buffer made earlier is changed, read, or both."""
        if not self.buffers:
            self.make_buffer()
        memory = self.choose(*self.buffers)
        if self.number(0, 1):
            part = self.region(memory)
            self.body.append(ins.Store(part, self.tile_of(memory.dtype, part.shape)))
        region = self.region(memory)
        self.emit(self.value(memory.dtype, region.shape), lambda out: ins.Load(out, region))

    def make_atomic(self) -> None:
        """Adds to a tile in a buffer of its own."""
        x = self.tile(lambda t: t.type.rank == 1 and t.type.dtype == I32)
        memory = Memory("count", I32, (index(x.type.shape[0]),), Role.BUFFER)
        region = Region(memory, (AxisSlice(index(0), x.type.shape[0]),))
        self.body += [ins.Alloc(memory), ins.Store(region, x)]
        self.emit(
            self.value(I32, x.type.shape), lambda out: ins.AtomicRmw("add", region, x, out=out)
        )
        self.emit(self.value(I32, x.type.shape), lambda out: ins.Load(out, region))

    # Control flow

    def make_loop(self) -> None:
        var = Var(self.name("k"), INDEX)
        start, step = self.choose(index(0), index(2), self.index(1)), self.number(1, 4)
        stop = self.choose(index(self.number(0, 8)), add(start, index(self.number(0, 6))))
        stop = self.choose(stop, *[s for m in self.memories for s in m.shape])
        start = Binary("max", start, index(-8), INDEX)
        init = self.tile()
        inner = self.value(init.type.dtype, init.type.shape)
        inside = self.nested([var], [inner])
        inside.block()
        yielded = inside.like(inner)
        count, after = Var(self.name("i"), INDEX), Var(self.name("n"), INDEX)
        result = self.value(init.type.dtype, init.type.shape)
        carried = (
            ins.Carried(result, inner, init, yielded),
            ins.Carried(after, count, index(0), add(count, index(1))),
        )
        body = tuple(inside.body)
        self.body.append(ins.For(var, start, stop, index(step), body, carried))
        self.tiles.append(result)
        self.scalars.append(after)

    def make_turns(self) -> None:
        """A while loop over a count, so that it ends."""
        count, after = Var(self.name("i"), INDEX), Var(self.name("n"), INDEX)
        inside = self.nested([count])
        inside.block()
        condition = Binary("lt", count, index(self.number(0, 3)), BOOL)
        step = add(count, index(self.number(1, 2)))
        carried = (ins.Carried(after, count, index(0), step),)
        self.body.append(ins.While((), condition, tuple(inside.body), carried))
        self.scalars.append(after)

    def make_branch(self) -> None:
        like = self.tile()
        then, otherwise = self.nested(), self.nested()
        then.block()
        otherwise.block()
        result = self.value(like.type.dtype, like.type.shape)
        joined = (ins.Joined(result, then.like(like), otherwise.like(like)),)
        condition = self.condition()
        self.body.append(ins.If(condition, tuple(then.body), tuple(otherwise.body), joined))
        self.tiles.append(result)

    def block(self) -> None:
        for _ in range(self.number(1, 3)):
            self.statement()


@st.composite
def kernels(draw: st.DrawFn, statements: int = 8, turns: bool = True) -> Kernel:
    """A kernel over inputs x, w, ids and as many outputs as it stores tiles."""
    m, n = Var("M", INDEX), Var("N", INDEX)
    columns: Expr = draw(st.sampled_from([n, index(8), Binary("mul", n, index(2), INDEX)]))
    memories = [
        Memory("x", F32, (m, columns), Role.IN),
        Memory("w", U4, (columns,), Role.IN),
        Memory("ids", I32, (n,), Role.IN),
    ]
    scalars: list[Expr] = [m, n]
    divisors = {v: draw(st.sampled_from([1, 2, 4])) for v in (m, n)}
    requires = tuple(
        Requirement(
            Binary("eq", Binary("mod", v, index(d), INDEX), index(0), BOOL), f"{v.name} % {d} == 0"
        )
        for v, d in divisors.items()
        if d > 1
    )
    grid: tuple[GridAxis, ...] = ()
    turn: Expr = index(0)
    if turns:
        step = draw(st.sampled_from([1, 2, 4]))
        turn = Var("m", INDEX)
        grid = (GridAxis(turn, index(0), m, index(step)),)
        scalars.append(turn)
    builder = Builder(draw, memories, scalars)
    for _ in range(draw(st.integers(1, statements))):
        builder.statement()
    outputs = []
    for value in _stored(draw, builder.tiles):
        shape = (m, *map(index, value.type.shape))
        out = Memory(f"out{len(outputs)}", value.type.dtype, shape, Role.OUT)
        axes = [AxisSlice(turn, 1, dropped=True)]
        axes += [AxisSlice(index(0), size) for size in value.type.shape]
        builder.body.append(ins.Store(Region(out, tuple(axes)), value))
        outputs.append(out)
    params = (*memories, *outputs)
    return Kernel("random", params, (m, n), grid, tuple(builder.body), requires)


def _stored(draw: st.DrawFn, tiles: list[Value]) -> list[Value]:
    if not tiles:
        return []
    some = draw(st.lists(st.sampled_from(tiles), max_size=3, unique_by=id))
    return [*some, tiles[-1]] if tiles[-1] not in some else some


def inputs(kernel: Kernel, seed: int) -> dict[str, np.ndarray]:
    """Arguments for a kernel of `kernels()`, drawn by the seed; outputs are zero."""
    random = np.random.default_rng(seed)
    dims = {"M": int(random.integers(1, 4)) * 4, "N": int(random.integers(1, 3)) * 4}
    arrays = {}
    for memory in kernel.tensors:
        shape = tuple(_extent(e, dims) for e in memory.shape)
        dtype = storage_dtype(memory.dtype)
        if memory.role is Role.OUT:
            arrays[memory.name] = np.zeros(shape, dtype)
        elif memory.dtype.is_float:
            arrays[memory.name] = random.normal(size=shape).astype(dtype)
        else:
            arrays[memory.name] = random.integers(0, 8, shape).astype(dtype)
    return arrays


def _extent(expr: Expr, dims: dict[str, int]) -> int:
    match expr:
        case Const(value):
            return int(value)
        case Var(name):
            return dims[name]
        case Binary("mul", x, y):
            return _extent(x, dims) * _extent(y, dims)
    raise AssertionError(expr)
