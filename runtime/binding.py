"""Dims from the shapes of a call's arguments, by an artifact's signature.

The same rules and words as the interpreter's: a dim is bound where it is an axis of its own, and every
other axis is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from dslc.compiler.artifact import Param, Signature
from dslc.compiler.diagnostics import error
from dslc.runtime.expression import Number, evaluate, holds

Extents = Mapping[str, Sequence[int] | None]


def bind_dims(
    signature: Signature, shapes: Extents, strides: Extents, scalars: Mapping[str, Number]
) -> dict[str, Number]:
    """The values of all dims and scalars by name, once shapes, strides and requirements are checked.

    A shape of None (packed bytes) binds and checks nothing. Strides are in elements. Raises DSL0751 for
    a rank, DSL0752 for an extent, DSL0753 for a stride, DSL0754 for a dim that nothing binds, DSL0759
    for a requirement.
    """
    values: dict[str, Number] = {**signature.fixed, **scalars}
    tensors = [p for p in signature.params if p.dims is not None and shapes[p.name] is not None]
    for p in tensors:
        dims, shape = p.dims or (), shapes[p.name] or ()
        if len(shape) != len(dims):
            raise error(
                "DSL0751",
                f"argument {p.name} has shape {tuple(shape)}: {len(shape)} axes, "
                f"expected {len(dims)}: {_listed(dims)}",
            )
        _bind(signature, dims, shape, values)
        if p.strides is not None:
            _bind(signature, p.strides, strides[p.name] or (), values)
    for dim in signature.dims:
        if dim not in values:
            raise error("DSL0754", f"no argument gives the dim {dim}", hint=f"fix it: -D {dim}=...")
    for p in tensors:
        _check(p, shapes[p.name] or (), strides[p.name] or (), values)
    check_requirements(signature, values)
    return values


def bind_copied(
    signature: Signature, args: Mapping[str, Any], dims: Mapping[str, int]
) -> dict[str, Number]:
    """`bind_dims` of arguments that are copied to a machine, where they lie row by row.

    How they lie before matters where the kernel names strides. `dims` are those that packed bytes do
    not tell.
    """
    tensors = {p.name: args[p.name] for p in signature.params if p.dims is not None}
    plain = {p.name for p in signature.params if p.dims is not None and p.packed is None}
    shapes = {name: tuple(a.shape) if name in plain else None for name, a in tensors.items()}
    lying = {name: dense_strides(shapes[name] or ()) for name in plain}
    for p in signature.params:
        if p.strides is not None and isinstance(array := tensors[p.name], np.ndarray):
            lying[p.name] = tuple(s // array.itemsize for s in array.strides)
    scalars = {p.name: args[p.name] for p in signature.params if p.dims is None}
    return bind_dims(signature, shapes, lying, {**dims, **scalars})


def check_requirements(signature: Signature, values: Mapping[str, Number]) -> None:
    """DSL0759 for a requirement that does not hold."""
    for r in signature.requires:
        if not holds(r.condition, values):
            used = ", ".join(f"{n} = {values[n]}" for n in signature.dims if n in values)
            raise error("DSL0759", f"it requires {r.text}" + (f", but {used}" if used else ""))


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a row-major array without gaps."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _bind(
    signature: Signature, texts: Sequence[str], extents: Sequence[int], values: dict[str, Number]
) -> None:
    for text, extent in zip(texts, extents, strict=False):
        if text in signature.dims:
            values.setdefault(text, int(extent))


def _check(
    p: Param, shape: Sequence[int], strides: Sequence[int], values: Mapping[str, Number]
) -> None:
    wanted = [evaluate(text, values) for text in p.dims or ()]
    if list(shape) != wanted:
        shown = _expected(p.dims or (), wanted)
        raise error("DSL0752", f"argument {p.name} has shape {tuple(shape)}, expected {shown}")
    if not all(shape):
        return
    steps = dense_strides(shape)
    if p.strides is not None:
        steps = tuple(evaluate(text, values) for text in p.strides)
    # The stride of an axis with one element is never used.
    if any(n > 1 and s != w for n, s, w in zip(shape, strides, steps, strict=True)):
        shown = _expected(p.strides, steps) if p.strides else f"{list(steps)} (row-major)"
        raise error(
            "DSL0753",
            f"argument {p.name} has strides {tuple(strides)}, expected {shown}",
            hint=None if p.strides else "make it contiguous, or declare its strides in the kernel",
        )


def _expected(texts: Sequence[str], numbers: Sequence[int]) -> str:
    said, counted = _listed(texts), _listed([str(n) for n in numbers])
    return counted if said == counted else f"{said} = {counted}"


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(texts)}]"
