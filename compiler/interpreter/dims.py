"""Dims from shapes: what every caller of a kernel does first."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import INDEX
from dslc.compiler.interpreter.scalars import compile_scalar
from dslc.compiler.interpreter.scope import Scope
from dslc.compiler.ir import Memory, Param
from dslc.compiler.ir.arithmetic.scalar_functions import Scalar
from dslc.compiler.ir.expr import Binary, Const, Expr, Var, free_vars

Shapes = Mapping[str, Sequence[int] | None]

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%"}


def bind_dims(
    params: Sequence[Param],
    shapes: Shapes,
    strides: Shapes | None = None,
    known: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """The value of every dim, by name, from the shapes (and element strides) of the arguments.

    A dim that is an axis of its own is bound there; every other axis is then checked against its
    expression. A shape of None (packed bits) binds nothing. `known` gives dims and scalars from
    elsewhere. Raises DSL0751 for a rank, DSL0752 for an extent, DSL0753 for a stride that does not fit,
    DSL0754 for a dim that nothing binds.
    """
    dims = dict(known or {})
    tensors = [p for p in params if isinstance(p, Memory) and shapes.get(p.name) is not None]
    for p in tensors:
        shape = shapes[p.name] or ()
        if len(shape) != p.rank:
            raise error(
                "DSL0751",
                f"argument {p.name} has shape {_tuple(shape)}: {len(shape)} axes, "
                f"expected {p.rank}: {shape_text(p.shape)}",
                p.loc,
            )
        _bind(p.shape, shape, dims)
        if strides is not None and p.strides is not None:
            _bind(p.strides, strides[p.name] or (), dims)
    for p in tensors:
        shape = shapes[p.name] or ()
        _check(p, p.shape, shape, dims, ("shape", "DSL0752", shape))
        if strides is not None and p.strides is not None:
            given = strides[p.name] or ()
            _check(p, p.strides, given, dims, ("strides", "DSL0753", shape))
    return dims


def evaluate(expr: Expr, dims: Mapping[str, Any]) -> int:
    """An index or bool expression over dims and scalars by name; KeyError where one is missing."""
    return int(number(expr, dims))


def number(expr: Expr, dims: Mapping[str, Any]) -> Any:
    """The same of any dtype: what a program hands to a kernel may be a float."""
    match expr:
        case Const(value=value):
            return value
        case Var(name=name):
            return dims[name]
        case _:
            function, slots, size = _compiled(expr)
            frame: list[Any] = [None] * size
            for name, slot in slots:
                frame[slot] = dims[name]
            return function(frame)


@functools.lru_cache(maxsize=1024)
def _compiled(expr: Expr) -> tuple[Scalar, tuple[tuple[str, int], ...], int]:
    scope = Scope(check=False)
    function = compile_scalar(scope, expr)
    return function, tuple((v.name, scope.slot(v)) for v in free_vars(expr)), scope.size


def shape_text(exprs: Sequence[Expr]) -> str:
    """Axes as the user wrote them: `[K // G, N]`."""
    return f"[{', '.join(expr_text(e) for e in exprs)}]"


def expr_text(expr: Expr, inner: bool = False) -> str:
    """An index expression in the language's notation."""
    match expr:
        case Const(value=value):
            return str(value)
        case Var(name=name):
            return name
        case Binary(op=op, x=x, y=y) if op in _SIGNS:
            text = f"{expr_text(x, True)} {_SIGNS[op]} {expr_text(y, True)}"
            return f"({text})" if inner else text
        case Binary(op="min" | "max" as op, x=x, y=y):
            return f"{op}({expr_text(x)}, {expr_text(y)})"
        case _:
            return "..."


def _bind(exprs: Sequence[Expr], extents: Sequence[int], dims: dict[str, int]) -> None:
    for expr, extent in zip(exprs, extents, strict=False):
        if isinstance(expr, Var) and expr.dtype == INDEX:
            dims.setdefault(expr.name, int(extent))


def _check(
    p: Memory,
    exprs: Sequence[Expr],
    given: Sequence[int],
    dims: Mapping[str, int],
    what: tuple[str, str, Sequence[int]],
) -> None:
    noun, code, shape = what
    for name in sorted({v.name for e in exprs for v in free_vars(e)} - dims.keys()):
        raise error(
            "DSL0754",
            f"no argument gives the dim {name}, which the {noun} of {p.name} needs: "
            f"{shape_text(exprs)}",
            p.loc,
            hint=f"fix it: -D {name}=...",
        )
    wanted = [evaluate(e, dims) for e in exprs]
    # The stride of an axis with at most one element is never used.
    used = [noun == "shape" or (min(shape) > 0 and extent > 1) for extent in shape]
    if any(u and int(g) != w for u, g, w in zip(used, given, wanted, strict=True)):
        text, numbers = shape_text(exprs), _list(wanted)
        raise error(
            code,
            f"argument {p.name} has {noun} {_tuple(given)}, expected "
            + (numbers if text == numbers else f"{text} = {numbers}"),
            p.loc,
        )


def _list(extents: Sequence[int]) -> str:
    return f"[{', '.join(str(int(e)) for e in extents)}]"


def _tuple(extents: Sequence[int]) -> str:
    return str(tuple(int(e) for e in extents))
