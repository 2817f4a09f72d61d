"""Steps that make tiles from tiles: one function an instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.dtypes import F32, cast, value_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards import poison
from dslc.compiler.interpreter.scalars import compile_scalar
from dslc.compiler.interpreter.scope import Frame, Scope, Step
from dslc.compiler.interpreter.steps.views import view, view_mask
from dslc.compiler.interpreter.tensors import undefined_values
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import elements
from dslc.compiler.ir.arithmetic.scalar_functions import constant
from dslc.compiler.ir.expr import Const

Computation: TypeAlias = (
    ins.Unary | ins.Binary | ins.Fma | ins.Fused | ins.Cast | ins.Reduce | ins.Scan | ins.Dot
)


def full(scope: Scope, i: ins.Full) -> Step:
    """One element all over the tile."""
    kind, shape = value_dtype(i.out.type.dtype), i.out.type.shape
    if isinstance(i.value, Const):
        return _fixed(scope, i.out, np.full(shape, constant(i.value.value, i.value.dtype), kind))
    out, value = scope.slot(i.out), compile_scalar(scope, i.value)

    def step(f: Frame) -> None:
        f[out] = np.full(shape, value(f), kind)

    return step


def undefined(scope: Scope, i: ins.Undefined) -> Step:
    """Garbage, every element marked."""
    tile = undefined_values(i.out.type.dtype, i.out.type.shape)
    return poison.mark(scope, i.out, _fixed(scope, i.out, tile))


def arange(scope: Scope, i: ins.Arange) -> Step:
    """0, 1, 2, ..."""
    return _fixed(scope, i.out, np.arange(i.out.type.shape[0], dtype=value_dtype(i.out.type.dtype)))


def unary(scope: Scope, i: ins.Unary) -> Step:
    """op(x)."""
    return compute(scope, i, [i.x], elements.unary(i.op, i.x.type.dtype))


def binary(scope: Scope, i: ins.Binary) -> Step:
    """op(x, y)."""
    return compute(scope, i, [i.x, i.y], elements.binary(i.op, i.x.type.dtype))


def fma(scope: Scope, i: ins.Fma) -> Step:
    """A product and a sum, rounded once."""
    return compute(scope, i, [i.x, i.y, i.z], elements.fma(i.x.type.dtype))


def fused(scope: Scope, i: ins.Fused) -> Step:
    """Steps of f32 one after another."""
    kinds = [x.type.dtype for x in i.xs]
    steps = i.steps.split()

    def run(*xs: Array) -> Array:
        first, *others = (cast(x, kind, F32, False) for x, kind in zip(xs, kinds, strict=True))
        for step in steps:
            if step in ins.FUSED_OPS:
                pair = (first, others.pop(0))
                op = "sub" if step == "rsub" else step
                first = elements.binary(op, F32)(*(pair[::-1] if step == "rsub" else pair))
            elif step in ("square", "silu"):
                other = first if step == "square" else elements.unary("sigmoid", F32)(first)
                first = elements.binary("mul", F32)(first, other)
            else:
                first = elements.unary(step, F32)(first)
        return cast(first, F32, i.out.type.dtype, False)

    return compute(scope, i, list(i.xs), run)


def where(scope: Scope, i: ins.Where) -> Step:
    """Chosen elements only count: the others may be undefined."""
    out, c, x, y = (scope.slot(v) for v in (i.out, i.condition, i.x, i.y))

    def choose(f: Frame) -> None:
        f[out] = np.where(f[c], f[x], f[y])

    return poison.choose(scope, i, choose)


def cast_tile(scope: Scope, i: ins.Cast) -> Step:
    """Another dtype."""
    src, dst, saturate = i.x.type.dtype, i.out.type.dtype, i.saturate
    return compute(scope, i, [i.x], lambda x: cast(x, src, dst, saturate))


def view_tile(scope: Scope, i: ins.View) -> Step:
    """The same bits per thread."""
    return move(scope, i.out, [i.x], view(i.x.type, i.out.type), view_mask(i.x.type, i.out.type))


def convert_layout(scope: Scope, i: ins.ConvertLayout) -> Step:
    """A layout does not change values."""
    return move(scope, i.out, [i.x], lambda x: x)


def reduce(scope: Scope, i: ins.Reduce) -> Step:
    """Over one axis."""
    function = elements.reduction(i.op, i.out.type.dtype)
    axis, keep = i.axis, i.keepdims
    return compute(scope, i, [i.x], lambda x: function(x, axis=axis, keepdims=keep))


def scan(scope: Scope, i: ins.Scan) -> Step:
    """The inclusive prefix sum."""
    function, axis = elements.scan(i.out.type.dtype), i.axis
    return compute(scope, i, [i.x], lambda x: function(x, axis=axis))


def transpose(scope: Scope, i: ins.Transpose) -> Step:
    """Axes in another order."""
    axes = i.axes
    if i.x in scope.in_memory:
        scope.in_memory[i.out] = scope.in_memory[i.x]
    return move(scope, i.out, [i.x], lambda x: np.transpose(x, axes))


def reshape(scope: Scope, i: ins.Reshape) -> Step:
    """The same elements in row-major order."""
    shape = i.out.type.shape
    return move(scope, i.out, [i.x], lambda x: np.reshape(x, shape))


def broadcast(scope: Scope, i: ins.Broadcast) -> Step:
    """Stretched without a copy."""
    shape = i.out.type.shape
    return move(scope, i.out, [i.x], lambda x: np.broadcast_to(x, shape))


def repeat(scope: Scope, i: ins.Repeat) -> Step:
    """Each element several times."""
    times, axis = i.times, i.axis
    return move(scope, i.out, [i.x], lambda x: np.repeat(x, times, axis))


def concat(scope: Scope, i: ins.Concat) -> Step:
    """One after another."""
    axis = i.axis
    return move(scope, i.out, i.xs, lambda *xs: np.concatenate(xs, axis))


def extract(scope: Scope, i: ins.Extract) -> Step:
    """A constant slice."""
    sizes = iter(i.out.type.shape)
    index: list[Any] = []
    for axis, (start, step) in enumerate(zip(i.starts, i.steps, strict=True)):
        if axis in i.dropped:
            index.append(start)
        else:
            index.append(slice(start, start + (next(sizes) - 1) * step + 1, step))
    at = tuple(index)
    return move(scope, i.out, [i.x], lambda x: x[at])


def compute(
    scope: Scope, i: Computation, xs: Sequence[Value], function: Callable[..., Any]
) -> Step:
    """A step that reads every element of its operands."""
    return poison.guard(scope, xs, i.loc, apply(scope, scope.slot(i.out), xs, function))


def apply(scope: Scope, out: int, xs: Sequence[Value], function: Callable[..., Any]) -> Step:
    """f[out] = function(*xs)."""
    match [scope.slot(x) for x in xs]:
        case [x]:

            def one(f: Frame) -> None:
                f[out] = function(f[x])

            return one
        case [x, y]:

            def two(f: Frame) -> None:
                f[out] = function(f[x], f[y])

            return two
        case slots:

            def several(f: Frame) -> None:
                f[out] = function(*[f[x] for x in slots])

            return several


def move(
    scope: Scope,
    out: Value,
    xs: Sequence[Value],
    function: Callable[..., Any],
    on_masks: Callable[..., Any] | None = None,
) -> Step:
    """A step that only moves elements: undefined ones stay undefined where they go."""
    step = apply(scope, scope.slot(out), xs, function)
    return poison.carry(scope, out, xs, on_masks or function, step)


def _fixed(scope: Scope, out: Value, tile: Array) -> Step:
    slot = scope.slot(out)

    def step(f: Frame) -> None:
        f[slot] = tile

    return step
