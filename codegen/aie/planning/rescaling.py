"""How tiles change with a maximum that they are taken relative to: e^(scores - maximum) and sums of it.

With `old` and `new` maxima, a factor is exp2(a * old - a * new), and a tile scales by a rate a if it is
made, by operations that are linear in it, of exp2(x - a * new) where x does not depend on them. `a` is
a polynomial of numbers and of scalars that are the same for all elements; the axes along which the
maximum lies are followed through every operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.expr import free_vars
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Name, operands, tile_of

Polynomial: TypeAlias = dict[tuple[int, ...], float]  # products of scalars, by their identity
Axes: TypeAlias = tuple[int | None, ...]  # per axis of a tile, the axis of the maximum along it
_EXPONENTIALS = ("exp", "exp2")


@dataclass(frozen=True, slots=True)
class Rate:
    """A tile is multiplied by op(-rate * difference) as the maximum grows by a difference."""

    op: str
    rate: Polynomial
    axes: Axes


@dataclass(frozen=True, slots=True)
class _Form:
    """old * the maximum before + new * the maximum after, and whether there is more."""

    old: Polynomial
    new: Polynomial
    more: bool
    axes: Axes


def is_same(a: Rate, b: Rate) -> bool:
    """Whether two tiles scale alike along the same axes."""
    return (a.op, a.axes) == (b.op, b.axes) and not _sum(a.rate, _scale(b.rate, -1.0))


@dataclass(slots=True)
class Scaling:
    """The analysis of one loop body, whose carried values are `carried`, all its names `inner`."""

    defined: Mapping[Name, Stmt]
    carried: AbstractSet[Name]
    inner: AbstractSet[Name]
    old: Value | None = None
    new: Value | None = None
    _depends: dict[Value, bool] = field(default_factory=dict)
    _scalars: dict[ex.Expr, int] = field(default_factory=dict)

    def depends(self, value: Value) -> bool:
        """Whether a tile is made of carried values."""
        if value in self.carried:
            return True
        if value not in self._depends:
            stmt = self.defined.get(value)
            result = False
            if stmt is not None and not isinstance(stmt, ins.For | ins.While | ins.If):
                result = any(self.depends(x) for x in operands(stmt))
            elif stmt is not None:
                result = True  # nested loops and branches are not looked into
            self._depends[value] = result
        return self._depends[value]

    def ratio(self, value: Value) -> Rate | None:
        """The rate of exp(a * old - a * new), nothing else in it."""
        stmt = self.defined.get(value)
        if isinstance(stmt, ins.Unary) and stmt.op in _EXPONENTIALS:
            form = self._form(stmt.x)
            if form is None or form.more or _sum(form.old, form.new) or not form.old:
                return None
            return Rate(stmt.op, form.old, form.axes)
        if isinstance(stmt, ins.Broadcast | ins.Reshape):
            inner = self.ratio(stmt.x)
            axes = None if inner is None else _reshaped(stmt, inner.axes)
            return None if inner is None or axes is None else Rate(inner.op, inner.rate, axes)
        return None

    def rate(self, value: Value) -> Rate | None:
        """How a tile scales; None where that is not proved."""
        match stmt := self.defined.get(value):
            case ins.Unary(_, op, x) if op in _EXPONENTIALS:
                form = self._form(x)
                if form is None or form.old or not form.new:
                    return None
                return Rate(op, _scale(form.new, -1.0), form.axes)
            case ins.Unary(_, "neg", x):
                return self.rate(x)
            case ins.Cast(_, x) if stmt.out.type.dtype.is_float and x.type.dtype.is_float:
                return self.rate(x)
            case ins.Broadcast(_, x) | ins.Reshape(_, x):
                inner = self.rate(x)
                axes = None if inner is None else _reshaped(stmt, inner.axes)
                return None if inner is None or axes is None else Rate(inner.op, inner.rate, axes)
            case ins.Transpose(_, x, order):
                inner = self.rate(x)
                return (
                    None
                    if inner is None
                    else Rate(inner.op, inner.rate, tuple(inner.axes[n] for n in order))
                )
            case ins.Binary(_, "mul", x, y):
                known = [v for v in (x, y) if not self.depends(v)]
                return self.rate(y if known[0] is x else x) if len(known) == 1 else None
            case ins.Binary(_, "div", x, y):
                return None if self.depends(y) else self.rate(x)
            case ins.Binary(_, "add" | "sub", x, y):
                a, b = self.rate(x), self.rate(y)
                return a if a is not None and b is not None and is_same(a, b) else None
            case ins.Where(_, condition, x, y):
                return self._chosen(condition, x, y)
            case ins.Reduce(_, "sum", x, axis):
                inner = self.rate(x)
                if inner is None or inner.axes[axis] is not None:
                    return None
                kept = tuple(a for n, a in enumerate(inner.axes) if n != axis or stmt.keepdims)
                return Rate(inner.op, inner.rate, kept)
            case ins.Dot():
                return self._product(stmt)
            case _:
                return None

    def _chosen(self, condition: Value, x: Value, y: Value) -> Rate | None:
        """0 scales with everything."""
        if self.depends(condition):
            return None
        zero = [
            isinstance(s := self.defined.get(v), ins.Full) and constant(s.value) == 0
            for v in (x, y)
        ]
        return self.rate(y if zero[0] else x) if any(zero) else None

    def _product(self, stmt: ins.Dot) -> Rate | None:
        if stmt.acc is not None or self.depends(stmt.a) == self.depends(stmt.b):
            return None
        left = self.depends(stmt.a)
        inner = self.rate(stmt.a if left else stmt.b)
        if inner is None or inner.axes[-1 if left else -2] is not None:
            return None
        *batch, row, column = inner.axes
        return Rate(inner.op, inner.rate, (*batch, row if left else None, None if left else column))

    def _form(self, value: Value) -> _Form | None:
        """A tile as a sum of the maxima, each times what is the same for all elements."""
        rank = len(value.type.shape)
        if value is self.old or value is self.new:
            axes = tuple(n if size > 1 else None for n, size in enumerate(value.type.shape))
            one: Polynomial = {(): 1.0}
            return _Form(
                one if value is self.old else {}, one if value is self.new else {}, False, axes
            )
        if value in self.carried:
            return None
        if not self.depends(value):
            return _Form({}, {}, not self._is_zero(value), (None,) * rank)
        match stmt := self.defined.get(value):
            case ins.Unary(_, "neg", x):
                return self._times(self._form(x), {(): -1.0})
            case ins.Binary(_, "add", x, y):
                return _added(self._form(x), self._form(y))
            case ins.Binary(_, "sub", x, y):
                return _added(self._form(x), self._times(self._form(y), {(): -1.0}))
            case ins.Binary(_, "mul", x, y):
                return self._multiplied(x, y)
            case ins.Fma(_, x, y, z):
                return _added(self._multiplied(x, y), self._form(z))
            case ins.Broadcast(_, x) | ins.Reshape(_, x):
                form = self._form(x)
                moved = None if form is None else _reshaped(stmt, form.axes)
                if form is None or moved is None:
                    return None
                return _Form(form.old, form.new, form.more, moved)
            case _:
                return None

    def _is_zero(self, value: Value) -> bool:
        stmt = self.defined.get(value)
        return isinstance(stmt, ins.Full) and constant(stmt.value) == 0

    def _multiplied(self, x: Value, y: Value) -> _Form | None:
        if not self.depends(x) and not self.depends(y):
            return _Form({}, {}, True, (None,) * len(x.type.shape))
        for value, by in ((x, y), (y, x)):
            scalar = None if self.depends(by) else self._scalar(by)
            if scalar is not None:
                return self._times(self._form(value), scalar)
        return None

    def _scalar(self, value: Value) -> Polynomial | None:
        """What is the same for all elements, as a polynomial."""
        stmt = self.defined.get(value)
        if isinstance(stmt, ins.Broadcast | ins.Reshape):
            return self._scalar(stmt.x)
        if not isinstance(stmt, ins.Full):
            return None
        number = constant(stmt.value)
        if number is not None:
            return {(): float(number)} if number else {}
        if any(v in self.inner for v in (*free_vars(stmt.value), *_read(stmt.value))):
            return None  # not the same in all iterations of the loop
        key = self._scalars.setdefault(simplify(stmt.value), len(self._scalars))
        return {(key,): 1.0}

    @staticmethod
    def _times(form: _Form | None, by: Polynomial) -> _Form | None:
        if form is None:
            return None
        return _Form(_product(form.old, by), _product(form.new, by), form.more, form.axes)


def _read(expr: ex.Expr) -> Iterator[Value]:
    """The tiles whose element an expression reads."""
    if isinstance(expr, ex.Read):
        yield expr.value
    for name in ("x", "y", "condition"):
        part = getattr(expr, name, None)
        if part is not None:
            yield from _read(part)


def _added(a: _Form | None, b: _Form | None) -> _Form | None:
    if a is None or b is None:
        return None
    mine, other = (bool(f.old or f.new) for f in (a, b))
    if mine and other and a.axes != b.axes:
        return None
    return _Form(
        _sum(a.old, b.old), _sum(a.new, b.new), a.more or b.more, a.axes if mine else b.axes
    )


def _reshaped(stmt: Stmt, axes: Axes) -> Axes | None:
    """The axes after a broadcast, or a reshape that adds or drops axes of one element."""
    out = tile_of(stmt)
    (x,) = operands(stmt)
    assert out is not None
    if isinstance(stmt, ins.Broadcast):
        return (*(None,) * (len(out.type.shape) - len(axes)), *axes)
    long = [(n, a) for n, a in zip(x.type.shape, axes, strict=True) if n > 1]
    if [n for n in out.type.shape if n > 1] != [n for n, _ in long]:
        return None
    rest = iter(long)
    return tuple(next(rest)[1] if n > 1 else None for n in out.type.shape)


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    total = {k: a.get(k, 0.0) + b.get(k, 0.0) for k in {*a, *b}}
    return {k: v for k, v in total.items() if v}


def _scale(a: Polynomial, by: float) -> Polynomial:
    return {k: v * by for k, v in a.items()}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    product: Polynomial = {}
    for x, p in a.items():
        for y, q in b.items():
            key = tuple(sorted((*x, *y)))
            product[key] = product.get(key, 0.0) + p * q
    return {k: v for k, v in product.items() if v}
