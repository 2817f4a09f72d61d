"""Products: computed at once, though what a late one reads is held until its wait."""

from __future__ import annotations

import numpy as np
from dslc.compiler.dtypes.dtype import MX_BLOCK
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Step
from dslc.compiler.interpreter.steps.tiles import compute
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import elements


def dot(scope: Scope, i: ins.Dot) -> Step:
    """The product, plus acc, in the accumulator's dtype."""
    step = _product(scope, i)
    if not (i.is_async and scope.check):
        return step
    site = scope.site("the product", i.loc)
    slots = [scope.in_memory[x] for x in (i.a, i.b) if x in scope.in_memory]

    def late(f: Frame) -> None:
        f[TURN].products.start(f[TURN], site, [f[slot] for slot in slots])
        step(f)

    return late


def wait_dots(scope: Scope, i: ins.WaitDots) -> Step:
    """Until at most `pending` asynchronous products are under way."""
    pending = i.pending

    def step(f: Frame) -> None:
        f[TURN].products.wait(f[TURN], pending)

    return step


def _product(scope: Scope, i: ins.Dot) -> Step:
    product = elements.dot(i.a.type.dtype, i.b.type.dtype, i.a.type.shape[-1])
    if i.scale_a is not None or i.scale_b is not None:
        return _scaled(scope, i, product)
    if i.acc is None:
        return compute(scope, i, [i.a, i.b], product)

    def accumulate(a: Array, b: Array, acc: Array) -> Array:
        result: Array = product(a, b)
        result += acc
        return result

    return compute(scope, i, [i.a, i.b, i.acc], accumulate)


def _scaled(scope: Scope, i: ins.Dot, product: elements.Function) -> Step:
    """The product of operands whose blocks along k have scales."""
    given = [x for x in (i.scale_a, i.scale_b, i.acc) if x is not None]

    def scaled(a: Array, b: Array, *more: Array) -> Array:
        rest = list(more)
        if i.scale_a is not None:
            a = a * np.repeat(rest.pop(0), MX_BLOCK, axis=-1)
        if i.scale_b is not None:
            b = b * np.repeat(rest.pop(0), MX_BLOCK, axis=-2)
        result: Array = product(a, b)
        return result + rest[0] if rest else result

    return compute(scope, i, [i.a, i.b, *given], scaled)
