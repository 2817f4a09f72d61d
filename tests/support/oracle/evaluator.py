"""The meaning of a program of the oracle, turn by turn, in NumPy.

memory = run(program, {"x": values})   # values of every tensor; which were written
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support.oracle import operations
from support.oracle.dtypes import DTYPES, INDEX, Array, DType, cast, objects, rounded
from support.oracle.tree import (
    Assign,
    Buffer,
    Expr,
    For,
    If,
    Program,
    Scatter,
    Shape,
    Stmt,
    Store,
    Sub,
    Swap,
    While,
)


def dtype(name: str) -> DType:
    """Of a name, also of `index`."""
    return INDEX if name == "index" else DTYPES[name]


@dataclass(slots=True)
class State:
    """Tensors and buffers, which elements were written, scalars, and the tiles that have names."""

    memory: dict[str, Array]
    dtypes: dict[str, str]
    scalars: dict[str, Any] = field(default_factory=dict)
    tiles: dict[str, Array] = field(default_factory=dict)
    written: dict[str, Array] = field(default_factory=dict)


def run(program: Program, values: Mapping[str, Array]) -> State:
    """Every turn in order."""
    state = State(
        {name: v.copy() for name, v in values.items()}, {t.name: t.dtype for t in program.tensors}
    )
    state.written = {name: np.zeros(v.shape, bool) for name, v in values.items()}
    state.scalars = {name: value for name, _, value in program.scalars} | dict(program.dims)
    axes = [range(0, dict(program.dims).get(str(e), e), block) for _, e, block in program.grid]  # type: ignore[arg-type]
    kept = dict(state.scalars)
    for turn in itertools.product(*axes):
        state.scalars = kept | dict(zip((g[0] for g in program.grid), turn, strict=True))
        state.tiles = {}
        _body(program.body, state)
    return state


def _body(body: tuple[Stmt, ...], s: State) -> None:
    for stmt in body:
        _statement(stmt, s)


def _statement(stmt: Stmt, s: State) -> None:
    match stmt:
        case Assign():
            new = evaluate(stmt.value, s)
            if stmt.operator:
                d = dtype(stmt.value.dtype)
                new = operations.elementwise(stmt.operator, d, s.tiles[stmt.name], new)
            s.tiles[stmt.name] = new
        case Swap():
            first, second = (evaluate(v, s) for v in stmt.values)
            s.tiles |= {stmt.names[0]: first, stmt.names[1]: second}
        case Store():
            _store(stmt, evaluate(stmt.value, s), s)
        case Scatter():
            _scatter(stmt, s)
        case Buffer():
            d = DTYPES[stmt.dtype]
            s.memory[stmt.name] = constant(0, d, stmt.shape)
            s.dtypes[stmt.name] = stmt.dtype
            s.written[stmt.name] = np.zeros(stmt.shape, bool)
        case For():
            bounds = (stmt.start.value(s.scalars), stmt.stop.value(s.scalars), stmt.step)
            for i in range(*bounds):
                s.scalars[stmt.name] = i
                _body(stmt.body, s)
        case While():
            for i in range(stmt.start.value(s.scalars), 0, -1):
                s.scalars[stmt.name] = i
                _body(stmt.body, s)
        case If():
            _body(stmt.then if bool(evaluate(stmt.condition, s)) else stmt.otherwise, s)


def constant(value: Any, d: DType, shape: Shape = ()) -> Array:
    """One number everywhere."""
    if d.is_integer:
        return objects([int(value)] * math.prod(shape), shape)
    return np.full(shape, bool(value) if d.kind == "bool" else float(value))


@dataclass(frozen=True, slots=True)
class Region:
    """The indices of each axis of a memory, which of them exist, and the shape of the tile."""

    axes: list[Array]
    valid: Array
    shape: Shape

    def clipped(self, shape: Shape) -> tuple[Array, ...]:
        return np.ix_(
            *(np.clip(a, 0, max(n - 1, 0)) for a, n in zip(self.axes, shape, strict=True))
        )


def region(subs: tuple[Sub, ...], shape: Shape, scalars: Mapping[str, int]) -> Region:
    """What subscripts name; a missing one is the whole axis."""
    axes: list[Array] = []
    out: list[int] = []
    for sub in subs:
        if sub.kind == "new":
            out.append(1)
            continue
        extent = shape[len(axes)]
        start = sub.start.value(scalars)
        match sub.kind:
            case "all":
                axes.append(np.arange(extent))
            case "point":
                axes.append(np.array([start]))
            case _:
                axes.append(start + sub.step * np.arange(sub.length))
        if sub.kind != "point":
            out.append(len(axes[-1]))
    for extent in shape[len(axes) :]:
        axes.append(np.arange(extent))
        out.append(extent)
    valid = np.ones(tuple(len(a) for a in axes), bool)
    ends = [
        None if sub.end is None else sub.end.value(scalars) for sub in subs if sub.kind != "new"
    ]
    ends += [None] * (len(axes) - len(ends))
    for i, (a, extent, end) in enumerate(zip(axes, shape, ends, strict=True)):
        n = extent if end is None else min(extent, end)
        if len(a) and min(a[0], a[-1]) >= 0 and max(a[0], a[-1]) < n:  # a run of equal steps
            continue
        inside = (a >= 0) & (a < n)
        valid &= inside.reshape([-1 if j == i else 1 for j in range(len(axes))])
    return Region(axes, valid, tuple(out))


def _masked(found: Region, mask: Expr | None, s: State) -> Region:
    """What of a region is left where a mask holds."""
    if mask is None:
        return found
    held = np.broadcast_to(evaluate(mask, s).astype(bool), found.shape)
    return Region(found.axes, found.valid & held.reshape(found.valid.shape), found.shape)


def _load(e: Expr, s: State) -> Array:
    tensor, subs, other = e.data
    found, memory = region(subs, s.memory[tensor].shape, s.scalars), s.memory[tensor]
    found = _masked(found, e.args[0] if e.args else None, s)
    if memory.size and found.valid.all():
        return memory[np.ix_(*found.axes)].reshape(found.shape)
    outside = constant(0 if other is None else other, DTYPES[e.dtype], found.valid.shape)
    if memory.size:
        inside = memory[found.clipped(memory.shape)]
        outside = np.where(found.valid, inside, outside)
    if e.dtype != "e8m0" or found.valid.all():
        return outside.reshape(found.shape)
    raise operations.Unspecified("a scale that is out of bounds")


def _store(stmt: Store, value: Array, s: State) -> None:
    memory = s.memory[stmt.tensor]
    found = _masked(region(stmt.subs, memory.shape, s.scalars), stmt.where, s)
    full = np.broadcast_to(value, found.shape).reshape(found.valid.shape)
    places = tuple(np.broadcast_to(a, found.valid.shape)[found.valid] for a in np.ix_(*found.axes))
    new = full[found.valid]
    if stmt.operator:
        d = DTYPES[s.dtypes[stmt.tensor]]
        new = operations.elementwise(stmt.operator, d, memory[places], new)
    memory[places] = new
    s.written[stmt.tensor][places] = True


def _gathered(
    tensor: str, subs: tuple[Sub, ...], axis: int, ids: Array, s: State
) -> tuple[Array, tuple[Array, ...], Shape]:
    """Which elements exist, where each lies, and the shape of the tile."""
    memory = s.memory[tensor]
    found = region(subs, memory.shape, s.scalars)
    axes = list(found.axes)
    axes[axis] = ids.reshape(-1).astype(np.int64)
    grids = np.meshgrid(*axes, indexing="ij")
    valid = np.ones(grids[0].shape, bool)
    for number, (grid, extent) in enumerate(zip(grids, memory.shape, strict=True)):
        valid &= (grid >= 0) & (grid < extent)
        end = subs[number].end if number < len(subs) else None
        if end is not None:
            valid &= grid < end.value(s.scalars)
    place = sum(sub.kind != "point" for sub in subs[:axis])
    shape = (*found.shape[:place], *ids.shape, *found.shape[place + 1 :])
    return valid, tuple(g[valid] for g in grids), shape


def _gather(e: Expr, s: State) -> Array:
    tensor, subs, axis = e.data
    valid, places, shape = _gathered(tensor, subs, axis, evaluate(e.args[0], s), s)
    out = constant(0, DTYPES[e.dtype], valid.shape)
    out[valid] = s.memory[tensor][places]
    return out.reshape(shape)


def _scatter(stmt: Scatter, s: State) -> None:
    ids, value = evaluate(stmt.ids, s), evaluate(stmt.value, s)
    valid, places, shape = _gathered(stmt.tensor, stmt.subs, stmt.axis, ids, s)
    linear = np.ravel_multi_index(places, s.memory[stmt.tensor].shape) if places[0].size else []
    if len(np.unique(linear)) != len(linear):
        raise operations.Unspecified("equal ids")
    s.memory[stmt.tensor][places] = np.broadcast_to(value, shape).reshape(valid.shape)[valid]
    s.written[stmt.tensor][places] = True


def evaluate(e: Expr, s: State) -> Array:
    """The values of an expression, of its shape."""
    value = np.asarray(_value(e, s), object if dtype(e.dtype).is_integer else None)
    if value.shape != e.shape:
        raise AssertionError(f"{e.op} has shape {value.shape}, not {e.shape}")
    return value


def _value(e: Expr, s: State) -> Array:
    d = dtype(e.dtype)
    match e.op:
        case "number":
            return constant(e.data[0], d)
        case "affine":
            number = e.data[0].value(s.scalars)
            return rounded(np.float64(number), d) if d.is_float else constant(number, d)
        case "variable":
            name = e.data[0]
            return s.tiles[name] if name in s.tiles else constant(s.scalars[name], d)
        case "load":
            return _load(e, s)
        case "gather":
            return _gather(e, s)
        case "zeros":
            return constant(0, d, e.shape)
        case "arange":
            return objects(list(range(e.shape[0])), e.shape)
    args = [evaluate(a, s) for a in e.args]
    match e.op:
        case "full" | "broadcast":
            return np.broadcast_to(args[0], e.shape)
        case "cast":
            return cast(args[0], dtype(e.args[0].dtype), d, e.data[0])
        case "where" | "select":
            return np.where(*args)
        case "sum" | "prod" | "max" | "min" | "any" | "all" | "argmax" | "argmin" if e.data:
            return operations.reduce(e.op, args[0], *e.data, dtype(e.args[0].dtype))
        case "cumsum" | "cumprod" | "cummax" | "cummin":
            return operations.running(e.op, args[0], e.data[0], d)
        case "sort" | "argsort":
            order = operations.order(args[0], *e.data)
            found = np.take_along_axis(args[0], order, e.data[0])
            return order.astype(object) if e.op == "argsort" else found
        case "topk":
            count, axis, which = e.data
            order = np.take(operations.order(args[0], axis, True), range(count), axis)
            return order.astype(object) if which else np.take_along_axis(args[0], order, axis)
        case "dot":
            return operations.dot(args[0], args[1], e.data[0], d)
        case "transpose":
            return args[0].transpose(e.data[0]) if e.data[0] else args[0].swapaxes(-1, -2)
        case "reshape":
            return args[0].reshape(e.shape)
        case "repeat":
            return np.repeat(args[0], *e.data)
        case "concat":
            return np.concatenate(args, e.data[0])
        case "part":
            return args[0][tuple(_part(sub) for sub in e.data[0])]
    return operations.elementwise(e.op, dtype(e.args[0].dtype), *args)


def _part(sub: Sub) -> Any:
    match sub.kind:
        case "all":
            return slice(None)
        case "new":
            return None
        case "point":
            return sub.start.constant
    start = sub.start.constant
    return slice(start, start + sub.length * sub.step, sub.step)
