"""Random ways to a tile of a wanted shape from tiles of other shapes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from support.oracle.scope import Made, Scope
from support.oracle.tree import Affine, Expr, Shape, Sub

Inner = Callable[[Shape], Made]


def stretched(r: random.Random, shape: Shape) -> Shape:
    """A shape that broadcasts to another."""
    ones = tuple(1 if r.random() < 0.4 else e for e in shape)
    return dropped(r, ones) if r.random() < 0.5 else ones


def dropped(r: random.Random, shape: Shape) -> Shape:
    """Without some of the first axes."""
    return shape[r.randint(0, max(len(shape) - 1, 0)) :]


def _with(x: Made, op: str, shape: Shape, *data: object) -> Made:
    return replace(x, expr=Expr(op, x.dtype, shape, (x.expr,), data))


def _transposed(s: Scope, dtype: str, shape: Shape, inner: Inner) -> Made | None:
    if len(shape) < 2:
        return None
    if s.chance(0.6):
        return _with(inner((*shape[:-2], shape[-1], shape[-2])), "transpose", shape, None)
    axes = s.random.sample(range(len(shape)), len(shape))
    before = tuple(shape[axes.index(i)] for i in range(len(shape)))
    return _with(inner(before), "transpose", shape, tuple(axes))


def _reshaped(s: Scope, dtype: str, shape: Shape, inner: Inner) -> Made:
    count, factors = math.prod(shape), []
    while len(factors) < 2 and count > 1 and s.chance(0.7):
        divisor = s.random.choice([d for d in range(1, count + 1) if count % d == 0])
        factors.append(divisor)
        count //= divisor
    return _with(inner((*factors, count)), "reshape", shape)


def _broadcast(s: Scope, dtype: str, shape: Shape, inner: Inner) -> Made:
    return _with(inner(stretched(s.random, shape)), "broadcast", shape)


def _repeated(s: Scope, dtype: str, shape: Shape, inner: Inner) -> Made | None:
    axis = s.random.randrange(len(shape))
    count = s.random.choice([d for d in range(1, shape[axis] + 1) if shape[axis] % d == 0])
    before = (*shape[:axis], shape[axis] // count, *shape[axis + 1 :])
    return _with(inner(before), "repeat", shape, count, axis)


def _joined(s: Scope, dtype: str, shape: Shape, inner: Inner) -> Made | None:
    axis = s.random.randrange(len(shape))
    if shape[axis] < 2:
        return None
    at = s.random.randint(1, shape[axis] - 1)
    x, y = (inner((*shape[:axis], n, *shape[axis + 1 :])) for n in (at, shape[axis] - at))
    made = Expr("concat", dtype, shape, (x.expr, y.expr), (axis,))
    return Made(made, max(x.high, y.high), min(x.low, y.low))


def _part(s: Scope, dtype: str, shape: Shape, inner: Inner) -> Made | None:
    before: list[int] = []
    subs: list[Sub] = []
    for extent in shape:
        if extent == 1 and s.chance(0.3):
            subs.append(Sub("new"))
            continue
        step = s.random.choice((1, 1, 2))
        start = s.random.choice((0, 0, 1, 3))
        whole = start + extent * step + s.random.choice((0, 0, 1))
        if s.chance(0.4) or whole > 24:
            before.append(extent)
            subs.append(Sub("all"))
            continue
        before.append(whole)
        subs.append(Sub("slice", Affine(start), extent, step))
    if len(before) < 3 and s.chance(0.3):
        extent = s.random.choice((2, 3, 4))
        at = s.random.randint(0, len(subs))
        place = sum(sub.kind != "new" for sub in subs[:at])
        before.insert(place, extent)
        subs.insert(at, Sub("point", Affine(s.random.randint(-extent, extent - 1))))
    if not before or math.prod(before) > s.profile.most:
        return None
    return _with(inner(tuple(before)), "part", shape, tuple(subs))


WAYS = (_transposed, _transposed, _reshaped, _broadcast, _repeated, _joined, _part, _part)
