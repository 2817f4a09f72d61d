"""Sorting along an axis by a bitonic network (Batcher, 1968), the same steps on every machine.

The axis is padded to a power of two. A step compares elements that lie `reach` apart, as the two
halves of a reshaped axis, and swaps those in the wrong order: log2(n) * (log2(n) + 1) / 2 steps for n
elements. The k greatest take fewer: blocks of k elements are sorted, and of two blocks the better half
is kept until one is left.

A NaN is greater than every number. Where indices go along, equal elements keep their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dslc.checker.associativity import State
from dslc.checker.calls import Argument, function
from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.functions.reducing import check
from dslc.checker.functions.scalars import axis_in
from dslc.checker.functions.scanning import joined, numbers, part, tiles_of, where
from dslc.checker.items import Item
from dslc.compiler.dtypes import BOOL, F32, I32, DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex

MAX_SORTED = 1 << 14  # elements of an axis: 105 steps


@dataclass(frozen=True, slots=True)
class Order:
    """Which of two elements comes first; `stable` where the second tile of a state numbers them."""

    c: Context
    descending: bool
    stable: bool

    def swapped(self, a: State, b: State) -> Value:
        """Where b must come before a."""
        first, second = (b[0], a[0]) if self.descending else (a[0], b[0])
        above = self._greater(first, second)
        if not self.stable:
            return above
        tied = self._not(self._greater(second, first))
        behind = self.c.emit.binary("gt", a[1], b[1])
        return self._both("or", above, self._both("and", tied, behind))

    def _greater(self, x: Value, y: Value) -> Value:
        if not x.type.dtype.is_float:
            return self.c.emit.binary("gt", x, y)
        beyond = self._not(self.c.emit.binary("le", x, y))
        return self._both("and", beyond, self.c.emit.binary("eq", y, y))

    def _not(self, x: Value) -> Value:
        return self.c.emit.unary("not", x)

    def _both(self, op: str, x: Value, y: Value) -> Value:
        return self.c.emit.binary(op, x, y)

    def last(self, dtype: DType) -> ex.Const:
        """What comes behind every other element, or is equal to it."""
        if dtype.is_float:
            return ex.Const(-math.inf if self.descending else math.nan, dtype)
        low, high = dtype.integer_range
        return ex.Const(low if self.descending else high, dtype)


def _halves(c: Context, state: State, reach: int) -> tuple[State, State]:
    """Elements and their partners: of [outer, n, inner] two [outer, n / 2 reach, 1, reach * inner]."""
    outer, n, inner = state[0].type.shape
    wide = [c.emit.reshape(x, (outer, n // (2 * reach), 2, reach * inner)) for x in state]
    return tuple(part(c, x, 2, 0, 1) for x in wide), tuple(part(c, x, 2, 1, 1) for x in wide)


def _turned(c: Context, swap: Value, run: int, reach: int) -> Value:
    """The swaps with every second run of `run` elements in the opposite order."""
    shape = swap.type.shape
    block = numbers(c, shape, 1)
    number = c.emit.binary(
        "and", block, c.emit.full(ex.Const(run // (2 * reach), I32), block.type.shape)
    )
    odd = c.emit.binary("ne", number, c.emit.full(ex.Const(0, I32), block.type.shape))
    return c.emit.binary("xor", swap, c.emit.broadcast(odd, shape))


def _merge(order: Order, state: State, run: int) -> State:
    """Runs of `run` elements that rise and then fall, in order: every second one backwards."""
    c, shape = order.c, state[0].type.shape
    reach = run // 2
    while reach:
        a, b = _halves(c, state, reach)
        swap = order.swapped(a, b)
        if run < shape[1]:
            swap = _turned(c, swap, run, reach)
        low = (where(c, swap, y, x) for x, y in zip(a, b, strict=True))
        high = (where(c, swap, x, y) for x, y in zip(a, b, strict=True))
        pairs = zip(low, high, strict=True)
        state = tuple(c.emit.reshape(joined(c, pair, 2), shape) for pair in pairs)
        reach //= 2
    return state


def _better(order: Order, state: State, run: int) -> State:
    """Of each two runs in opposite orders the better half, which rises and then falls."""
    c, (outer, n, inner) = order.c, state[0].type.shape
    a, b = _halves(c, state, run)
    swap = order.swapped(a, b)
    kept = (where(c, swap, y, x) for x, y in zip(a, b, strict=True))
    return tuple(c.emit.reshape(x, (outer, n // 2, inner)) for x in kept)


def _padded(order: Order, state: State, size: int) -> State:
    """The state with an axis of `size` elements, the new ones behind all others."""
    c, (outer, n, inner) = order.c, state[0].type.shape
    out = []
    for place, x in enumerate(state):
        dtype = x.type.dtype
        value = order.last(dtype) if place == 0 else ex.Const(dtype is not BOOL and 0, dtype)
        if place == 1 and order.stable:
            value = ex.Const(n, I32)
        shape = (outer, size - n, inner)
        out.append(joined(c, (x, c.emit.full(value, shape)), 1) if size > n else x)
    return tuple(out)


def arranged(order: Order, state: State, axis: int, count: int) -> State:
    """The first `count` elements in order along an axis."""
    c, shape = order.c, state[0].type.shape
    outer, n, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if n > MAX_SORTED:
        fail(
            "DSL0204",
            f"an axis of {n} elements is too long to sort",
            c.emit.loc,
            hint=f"the limit is {MAX_SORTED}: sort parts, and topk of what they leave",
        )
    state = tuple(c.emit.reshape(x, (outer, n, inner)) for x in state)
    size = 1 << (n - 1).bit_length()
    final = 1 << (count - 1).bit_length()
    state = _padded(order, state, size)
    run = 2
    while run <= final:
        state = _merge(order, state, run)
        run *= 2
    while state[0].type.shape[1] > final:
        state = _merge(order, _better(order, state, final), final)
    state = tuple(part(c, x, 1, 0, count) for x in state)
    return tuple(c.emit.reshape(x, (*shape[:axis], count, *shape[axis + 1 :])) for x in state)


def _key(c: Context, tile: Value, op: str, x: Argument) -> Value:
    """What is compared: integers of a few bits as i32, and floats as f32.

    So what a machine does to compare narrow floats is done once, and not in every step.
    """
    dtype = tile.type.dtype
    if dtype.is_float and dtype.bits < 32:
        return c.emit.cast(tile, F32)
    check(op, dtype, x)
    return c.emit.cast(tile, I32) if dtype.bits < 8 else tile


def _numbered(c: Context, key: Value, axis: int) -> Value:
    return c.emit.broadcast(numbers(c, key.type.shape, axis), key.type.shape)


@function
def sort(c: Context, x: Argument, axis: Argument, descending: Argument | None = None) -> Item:
    """The elements of an axis in order; tiles of a list in the order of the first."""
    tiles, is_list = tiles_of(x)
    falling = descending.boolean() if descending else False
    at = axis_in(axis, tiles[0].type.rank)
    key, count = _key(c, tiles[0], "sort", x), tiles[0].type.shape[at]
    if not is_list:
        (out,) = arranged(Order(c, falling, False), (key,), at, count)
        return c.emit.cast(out, tiles[0].type.dtype)
    state = (key, _numbered(c, key, at), *tiles[1:])
    out, _, *others = arranged(Order(c, falling, True), state, at, count)
    return (c.emit.cast(out, tiles[0].type.dtype), *others)


@function
def argsort(c: Context, x: Argument, axis: Argument, descending: Argument | None = None) -> Item:
    """Where the elements of an axis stand that sort puts in order, i32; equal ones as they stand."""
    tile = x.tile()
    falling = descending.boolean() if descending else False
    at = axis_in(axis, tile.type.rank)
    key = _key(c, tile, "argsort", x)
    state = (key, _numbered(c, key, at))
    return arranged(Order(c, falling, True), state, at, tile.type.shape[at])[1]


@function
def topk(c: Context, x: Argument, k: Argument, axis: Argument) -> Item:
    """The k greatest of an axis, the greatest first, and where they stand (i32)."""
    tile, count = x.tile(), k.integer()
    at = axis_in(axis, tile.type.rank)
    if not 1 <= count <= tile.type.shape[at]:
        fail("DSL0204", f"k is 1 to {tile.type.shape[at]}, the extent of the axis", k.loc)
    key = _key(c, tile, "topk", x)
    state = (key, _numbered(c, key, at))
    values, places = arranged(Order(c, True, True), state, at, count)
    return (c.emit.cast(values, tile.type.dtype), places)
