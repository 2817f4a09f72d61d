"""Divisions by run-time numbers get a name: each is computed once, outside of loops (LICM of scalars).

Before (tests/ir/named-divisions/example.tir):

    grid h in range(0, HQ, 1)
    for l in range(0, L, 16) {
      %k = load @k[h // (HQ // HK), l : +16] : f32[16]
      store @y[h!, l : +16], %k
    }

After:

    grid h in range(0, HQ, 1)
    let quotient = HQ // max(HK, 1)
    let quotient_1 = h // max(quotient, 1)
    for l in range(0, L, 16) {
      %k = load @k[quotient_1, l : +16] : f32[16]
      store @y[h!, l : +16], %k
    }

A machine divides integers in some hundred instructions, and a compiler for it does not move what may be
conditional. A quotient moves as far out as its operands are known. There a divisor may be 0 that was
never used: 1 stands for it. What may be negative stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import (
    Binary,
    Const,
    Expr,
    Read,
    Var,
    children,
    free_vars,
    index,
    map_children,
    walk,
)
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import fresh_name, map_kernels, scalar_names, with_body
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Use,
    bodies,
    expressions,
    inner_names,
    results,
)
from dslc.compiler.ir.traverse import walk as statements

_NAMES = {"floordiv": "quotient", "mod": "remainder"}


@dataclass(frozen=True, slots=True)
class NameDivisions:
    """Gives divisions by what is no constant a name, outside of the loops that do not change them."""

    name: str = "named-divisions"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its divisions named; running the pass again changes nothing."""
        return map_kernels(program, _name)


def _name(kernel: Kernel) -> Kernel:
    return with_body(kernel, _Namer(kernel).body(kernel.body))


class _Namer(FactsRewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.taken = scalar_names(kernel)
        self.named: dict[Expr, Var] = {}

    def expr(self, expr: Expr) -> Expr:
        """The expression with the names of its divisions."""
        return self.named.get(expr) or map_children(expr, self.expr)

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body; names that are made in it are forgotten after it."""
        outside, self.named = self.named, dict(self.named)
        rewritten = super().nested(stmt, which, handed)
        self.named = outside
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement, after the names of the divisions in it that are known before it."""
        before: list[Stmt] = []
        if not isinstance(stmt, ins.Let):
            own = set(_own_names(stmt))
            for expr in _divisions(stmt):
                if expr in self.named or not own.isdisjoint(free_vars(expr)):
                    continue
                if (safe := self._safe(expr)) is not None:
                    var = Var(fresh_name(_NAMES[expr.op], self.taken), INDEX)
                    before.append(ins.Let(var, self.expr(safe), loc=stmt.loc))
                    self.facts.define(var, expr)
                    self.named[expr] = var
        return (*before, self.rebuild(stmt))

    def _safe(self, expr: Binary) -> Binary | None:
        """The division where its divisor may be 0; None where something may be negative."""
        if not (self._not_negative(expr.x) and self._not_negative(expr.y)):
            return None
        if self._not_negative(Binary("sub", expr.y, index(1), INDEX)):
            return expr
        return replace(expr, y=Binary("max", expr.y, index(1), INDEX))

    def _not_negative(self, expr: Expr) -> bool:
        match expr:
            case Binary("floordiv", x, y) if not isinstance(y, Const):
                return self._not_negative(x) and self._not_negative(y)
        return self.facts.nonnegative(self.facts.form(expr))


def _own_names(stmt: Stmt) -> Iterator[Name]:
    """The names that a statement gives within itself."""
    yield from inner_names(stmt)
    for body in bodies(stmt):
        for inner in statements(body):
            yield from (*results(inner), *inner_names(inner))


def _divisions(stmt: Stmt) -> Iterator[Binary]:
    """The divisions in a statement by what is no constant, outer ones after those in them."""
    for inner in statements((stmt,)):
        for expr in expressions(inner):
            yield from _inside(expr)


def _inside(expr: Expr) -> Iterator[Binary]:
    for child in children(expr):
        yield from _inside(child)
    match expr:
        case Binary("floordiv" | "mod", _, y, dtype=dtype) if dtype == INDEX:
            if not isinstance(y, Const) and not any(isinstance(e, Read) for e in walk(expr)):
                yield expr
