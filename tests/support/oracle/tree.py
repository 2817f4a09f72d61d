"""A program of the oracle: a tree that is printed as text, evaluated, and made smaller.

An expression is its operation, its operands and what else the operation needs (`data`):

    number (value,)   variable (name,)   affine (Affine,)      load (tensor, subscripts, other)
    cast (saturate,)  sum ... (axis, keepdims)   cumsum ... (axis,)   dot (transposed,)
    sort, argsort (axis, descending)             topk (count, axis, 0 for values or 1 for places)
    transpose (axes,) repeat (count, axis)       concat (axis,)   part (subscripts,)
    gather (tensor, subscripts, axis)            full, zeros, arange, reshape, broadcast ()

A load may have a mask as its operand. All else (`+`, `where`, `exp`) has operands only. The shape of a
scalar is (), its dtype may be index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant` plus multiples of scalars: an integer that subscripts and loops take."""

    constant: int = 0
    terms: tuple[tuple[int, str], ...] = ()

    def value(self, scalars: Mapping[str, int]) -> int:
        return self.constant + sum(c * scalars[name] for c, name in self.terms)

    def __str__(self) -> str:
        parts = [name if c == 1 else f"{c} * {name}" for c, name in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def plus(self, constant: int) -> Affine:
        return replace(self, constant=self.constant + constant)


@dataclass(frozen=True, slots=True)
class Sub:
    """One subscript: slice, all (`:`), point (drops the axis) or new (`None`).

    A slice with an `end` is `start : min(stop, end)`.
    """

    kind: str
    start: Affine = Affine()
    length: int = 1
    step: int = 1
    end: Affine | None = None


@dataclass(frozen=True, slots=True)
class Expr:
    op: str
    dtype: str
    shape: Shape = ()
    args: tuple[Expr, ...] = ()
    data: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Assign:
    """`name = value`, or `name += value` with an operator."""

    name: str
    value: Expr
    operator: str = ""


@dataclass(frozen=True, slots=True)
class Swap:
    """`a, b = x, y`."""

    names: tuple[str, str]
    values: tuple[Expr, Expr]


@dataclass(frozen=True, slots=True)
class Store:
    """`tensor[subs] = value` (or `+=`); also to a buffer. `where` is a mask, of a plain store."""

    tensor: str
    subs: tuple[Sub, ...]
    value: Expr
    operator: str = ""
    where: Expr | None = None


@dataclass(frozen=True, slots=True)
class Scatter:
    tensor: str
    subs: tuple[Sub, ...]
    ids: Expr
    value: Expr
    axis: int


@dataclass(frozen=True, slots=True)
class Buffer:
    name: str
    dtype: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class For:
    name: str
    start: Affine
    stop: Affine
    step: int
    body: tuple[Stmt, ...]
    options: str = ""


@dataclass(frozen=True, slots=True)
class While:
    """`name` counts down from `start` to 0; the body runs while it is positive."""

    name: str
    start: Affine
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


Stmt: TypeAlias = Assign | Swap | Store | Scatter | Buffer | For | While | If


@dataclass(frozen=True, slots=True)
class Tensor:
    """A parameter. Extents are numbers or dims; `stride` is what apart its last axis' elements lie.

    `draw` says what it holds: any codes, numbers of few bits (plain), or those and specials.
    """

    name: str
    dtype: str
    extents: tuple[int | str, ...]
    mode: str = "in"
    draw: str = "plain"
    strided: bool = False
    packed: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel with its arguments. `grid` has (variable, extent, block) for each axis.

    `loose` are the outputs whose last bits the language leaves open.
    """

    seed: int
    tensors: tuple[Tensor, ...]
    scalars: tuple[tuple[str, str, int | float], ...]
    dims: tuple[tuple[str, int], ...]
    grid: tuple[tuple[str, str | int, int], ...]
    body: tuple[Stmt, ...]
    loose: tuple[str, ...] = ()

    def tensor(self, name: str) -> Tensor | None:
        return next((t for t in self.tensors if t.name == name), None)

    def shape(self, tensor: Tensor) -> Shape:
        sizes = dict(self.dims)
        return tuple(e if isinstance(e, int) else sizes[e] for e in tensor.extents)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements, those inside others after them."""
    for stmt in body:
        yield stmt
        match stmt:
            case For() | While():
                yield from statements(stmt.body)
            case If():
                yield from statements(stmt.then)
                yield from statements(stmt.otherwise)


def expressions_of(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that stand in a statement itself."""
    match stmt:
        case Store(where=where) if where is not None:
            return (stmt.value, where)
        case Assign() | Store():
            return (stmt.value,)
        case Swap():
            return stmt.values
        case Scatter():
            return (stmt.ids, stmt.value)
        case If():
            return (stmt.condition,)
        case Buffer() | For() | While():
            return ()


def with_expressions(stmt: Stmt, new: tuple[Expr, ...]) -> Stmt:
    """The statement with other expressions in the order of `expressions_of`."""
    match stmt:
        case Store(where=where) if where is not None:
            return replace(stmt, value=new[0], where=new[1])
        case Assign() | Store():
            return replace(stmt, value=new[0])
        case Swap():
            return replace(stmt, values=new)
        case Scatter():
            return replace(stmt, ids=new[0], value=new[1])
        case If():
            return replace(stmt, condition=new[0])
        case Buffer() | For() | While():
            return stmt


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all in it."""
    yield expr
    for arg in expr.args:
        yield from walk(arg)


def mapped(body: tuple[Stmt, ...], change: Callable[[Expr], Expr]) -> tuple[Stmt, ...]:
    """The statements with `change` applied to each of their whole expressions."""
    out: list[Stmt] = []
    for stmt in body:
        new = with_expressions(stmt, tuple(change(e) for e in expressions_of(stmt)))
        match new:
            case For() | While():
                new = replace(new, body=mapped(new.body, change))
            case If():
                new = replace(
                    new, then=mapped(new.then, change), otherwise=mapped(new.otherwise, change)
                )
        out.append(new)
    return tuple(out)
