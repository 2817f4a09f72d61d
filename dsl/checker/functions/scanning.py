"""Scans and reductions by a function: written out as steps that machines have.

    total = reduce(f, x, 1)              top, at = reduce(best, [v, i], 1)
    before = scan(f, x, 1)

A function of two tiles, or of two lists of them, takes what lies before and what lies behind; it works
element by element and is associative, and need not commute. A reduction halves its axis by neighbours,
a scan doubles what each element has seen (Hillis and Steele, 1986): log2(n) calls of the function for n
elements.
"""

from __future__ import annotations

from typing import NoReturn

from dslc.checker.associativity import Combine, State, try_function
from dslc.checker.calls import Argument, apply, function
from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.functions.reducing import check, flat
from dslc.checker.functions.scalars import axis_in
from dslc.checker.items import Builtin, Item, UserFunction, describe, shape_text
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import I32
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins


def part(c: Context, x: Value, axis: int, start: int, size: int, step: int = 1) -> Value:
    """x[start : start + size * step : step] of an axis."""
    shape = x.type.shape
    if size == shape[axis]:
        return x
    out = c.emit.value(x.type.dtype, (*shape[:axis], size, *shape[axis + 1 :]))
    starts, steps = [0] * x.type.rank, [1] * x.type.rank
    starts[axis], steps[axis] = start, step
    c.emit.emit(ins.Extract(out, x, tuple(starts), tuple(steps), loc=c.emit.loc))
    return out


def joined(c: Context, xs: State, axis: int) -> Value:
    """Tiles one after another."""
    shape = list(xs[0].type.shape)
    shape[axis] = sum(x.type.shape[axis] for x in xs)
    out = c.emit.value(xs[0].type.dtype, tuple(shape))
    c.emit.emit(ins.Concat(out, xs, axis, loc=c.emit.loc))
    return out


def where(c: Context, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition holds, else y: tiles of one shape."""
    out = c.emit.value(x.type.dtype, x.type.shape)
    c.emit.emit(ins.Where(out, condition, x, y, loc=c.emit.loc))
    return out


def numbers(c: Context, shape: tuple[int, ...], axis: int) -> Value:
    """0, 1, ... along an axis, i32, the others of extent 1."""
    out = c.emit.value(I32, (shape[axis],))
    c.emit.emit(ins.Arange(out, loc=c.emit.loc))
    return c.emit.reshape(out, tuple(n if k == axis else 1 for k, n in enumerate(shape)))


def reduced(c: Context, combine: Combine, state: State, axis: int, commutes: bool) -> State:
    """One element of an axis, kept with extent 1, from all of them.

    Halves are neighbours, or one behind the other where the order does not matter.
    """
    tails: list[State] = []
    while (n := state[0].type.shape[axis]) > 1:
        half = n // 2
        if n % 2:
            tails.append(tuple(part(c, x, axis, n - 1, 1) for x in state))
        second, step = (half, 1) if commutes else (1, 2)
        state = combine(
            tuple(part(c, x, axis, 0, half, step) for x in state),
            tuple(part(c, x, axis, second, half, step) for x in state),
        )
    for tail in reversed(tails):
        state = combine(state, tail)
    return state


def scanned(c: Context, combine: Combine, state: State, axis: int, backwards: bool) -> State:
    """What each element and those before it, or behind it, come to."""
    shape = state[0].type.shape
    n, reach = shape[axis], 1
    at = numbers(c, shape, axis)
    while reach < n:
        rest, first = n - reach, 0 if not backwards else n - reach
        moved = []
        for x in state:
            kept = part(c, x, axis, first, reach)
            other = part(c, x, axis, reach if backwards else 0, rest)
            moved.append(joined(c, (other, kept) if backwards else (kept, other), axis))
        limit = ex.Const(rest if backwards else reach, I32)
        inside = c.emit.binary("lt" if backwards else "ge", at, c.emit.full(limit, at.type.shape))
        inside = c.emit.broadcast(inside, shape)
        both = (state, tuple(moved)) if backwards else (tuple(moved), state)
        state = tuple(where(c, inside, y, x) for x, y in zip(state, combine(*both), strict=True))
        reach *= 2
    return state


def tiles_of(xs: Argument) -> tuple[State, bool]:
    """The tiles of an argument, and whether it is a list."""
    item = xs.item()
    tiles = item if isinstance(item, tuple) else (item,)
    for tile in tiles:
        if not isinstance(tile, Value):
            fail(
                "DSL0219",
                f"{xs.name} must be a tile or a list of tiles, not {describe(item)}",
                xs.loc,
            )
    state = tuple(t for t in tiles if isinstance(t, Value))
    if not state:
        fail("DSL0219", f"{xs.name} is an empty list", xs.loc)
    first = state[0].type.shape
    for tile in state:
        if tile.type.shape != first:
            fail(
                "DSL0203",
                f"tiles of shapes {shape_text(first)} and {shape_text(tile.type.shape)} "
                "go along one axis",
                xs.loc,
                hint="stretch them first: broadcast(x, shape)",
            )
    return state, isinstance(item, tuple)


def _combine(c: Context, f: Argument, like: State, is_list: bool) -> Combine:
    target = f.item()
    if not isinstance(target, UserFunction | Builtin):
        hint = "def f(a, b): ... above the kernel, or maximum, minimum"
        fail("DSL0219", f"f must be a function, not {describe(target)}", f.loc, hint=hint)

    def call(a: State, b: State) -> State:
        before, behind = (a, b) if is_list else (a[0], b[0])
        combined = apply(c, target, (before, behind), f)
        items = combined if isinstance(combined, tuple) else (combined,)
        if len(items) != len(like) or isinstance(combined, tuple) != is_list:
            _misfit(combined, like, is_list, f.loc)
        out = []
        for item, x in zip(items, a, strict=True):
            if not isinstance(item, Value) or item.type.shape != x.type.shape:
                _misfit(combined, a, is_list, f.loc)
            if item.type.dtype != x.type.dtype:
                _misfit(combined, a, is_list, f.loc)
            out.append(item)
        return tuple(out)

    name = target.name if isinstance(target, Builtin) else target.function.name
    try_function(c, call, like, name, f.loc)
    return call


def _misfit(found: Item, wanted: State, is_list: bool, loc: Loc) -> NoReturn:
    def said(item: Item) -> str:
        if isinstance(item, tuple):
            return "[" + ", ".join(said(i).removeprefix("a tile ") for i in item) + "]"
        return describe(item)

    shown = said(wanted) if is_list else said(wanted[0])
    fail(
        "DSL0235",
        f"the function makes {said(found)} of two {shown}",
        loc,
        hint="it takes what lies before and what lies behind, and gives one of the same type",
    )


@function
def reduce_(
    c: Context, f: Argument, x: Argument, axis: Argument, keepdims: Argument | None = None
) -> Item:
    """A function applied between the elements of an axis, in their order."""
    state, is_list = tiles_of(x)
    at = axis_in(axis, state[0].type.rank)
    keep = keepdims.boolean() if keepdims else False
    state = reduced(c, _combine(c, f, state, is_list), state, at, commutes=False)
    out = tuple(_dropped(c, s, at, keep) for s in state)
    return out if is_list else out[0]


@function
def scan(
    c: Context, f: Argument, x: Argument, axis: Argument, reverse: Argument | None = None
) -> Item:
    """A function applied between the elements up to each, or from each on."""
    state, is_list = tiles_of(x)
    at = axis_in(axis, state[0].type.rank)
    backwards = reverse.boolean() if reverse else False
    state = scanned(c, _combine(c, f, state, is_list), state, at, backwards)
    return state if is_list else state[0]


def _dropped(c: Context, x: Value, axis: int, keep: bool) -> Item:
    if keep:
        return x
    shape = x.type.shape
    out = c.emit.reshape(x, shape[:axis] + shape[axis + 1 :])
    return ex.Read(out) if not out.type.shape else out


def _by(c: Context, op: str) -> Combine:
    def call(a: State, b: State) -> State:
        return tuple(c.emit.binary(op, x, y) for x, y in zip(a, b, strict=True))

    return call


@function
def prod(
    c: Context, x: Argument, axis: Argument | None = None, keepdims: Argument | None = None
) -> Item:
    """The product over an axis, or over everything."""
    tile = x.tile()
    check("prod", tile.type.dtype, x)
    keep = keepdims.boolean() if keepdims else False
    if axis is None:
        tile, at = flat(c, tile, keep, "prod", x), 0
    else:
        at = axis_in(axis, tile.type.rank)
    (out,) = reduced(c, _by(c, "mul"), (tile,), at, commutes=True)
    return _dropped(c, out, at, keep)


def _running(name: str, op: str) -> None:
    def handler(c: Context, x: Argument, axis: Argument) -> Item:
        tile = x.tile()
        check(name, tile.type.dtype, x)
        return scanned(c, _by(c, op), (tile,), axis_in(axis, tile.type.rank), False)[0]

    handler.__name__ = name
    function(handler)


for _name, _op in (("cumprod", "mul"), ("cummax", "max"), ("cummin", "min")):
    _running(_name, _op)
