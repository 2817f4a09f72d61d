"""Simplification (peephole rules, constant folding): indices, conditions, loops that facts decide.

Before (tests/ir/simplify/one_iteration.tir):

    grid m in range(0, M, 16)
    for k in range(0, 64, 64) {
      let n = (k + 64) // 64
      if m % 16 == 0 {
        %x = load @x[m + n * 64 - 64 : +16] : f32[16]
        store @y[m + k : +16], %x
      }
    }

After:

    grid m in range(0, M, 16)
    %x = load @x[m : +16] : f32[16]
    store @y[m : +16], %x

Scalars of an index expression are written out where they are used, equal ones are one, loops of no or
one iteration and decided branches dissolve, values that a loop never changes leave it, and dead code
goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import affine
from dslc.compiler.ir.expr import Binary, Const, Expr, Read, Var, walk
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Body, Name, Use
from dslc.compiler.ir.values import Value
from dslc.compiler.passes.simplification.dead_code import remove_dead_code

_MAX_WRITTEN_OUT = 24  # nodes of an expression that is written out at each use


@dataclass(frozen=True, slots=True)
class Simplify:
    """Simplifies the expressions and the control flow of every kernel."""

    name: str = "simplify"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program in simple form; running the pass again changes nothing."""
        return map_kernels(program, _simplify)


def _simplify(kernel: Kernel) -> Kernel:
    while True:
        simpler = remove_dead_code(_Simplifier(kernel).kernel(kernel))
        if simpler is kernel:
            return kernel
        kernel = simpler


class _Simplifier(FactsRewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.tiles: dict[Value, Value] = {}
        self.scalars: dict[Var, Expr] = {}
        self.named: dict[Expr, Var] = {}  # expressions that have a name here

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel simplified; requirements and the grid by arithmetic alone."""
        requires = tuple(
            replace(r, condition=condition)
            for r in kernel.requires
            if (condition := affine.simplify(r.condition)) != Const(True, BOOL)
        )
        grid = tuple(
            replace(
                a,
                start=affine.simplify(a.start),
                stop=affine.simplify(a.stop),
                step=affine.simplify(a.step),
            )
            for a in kernel.grid
        )
        body = self.body(kernel.body)
        if body is kernel.body and (requires, grid) == (kernel.requires, kernel.grid):
            return kernel
        return replace(kernel, requires=requires, grid=grid, body=body)

    def value(self, value: Value) -> Value:
        """The tile that stands for this one."""
        return self.tiles.get(value, value)

    def var(self, var: Var) -> Expr:
        """The expression that stands for this scalar."""
        return self.scalars.get(var, var)

    def expr(self, expr: Expr) -> Expr:
        """The expression with scalars written out, in simple form."""
        return self.facts.simplify(Rewriter.expr(self, expr))

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body; names that it gives to expressions are forgotten after it."""
        named = dict(self.named)
        rewritten = super().nested(stmt, which, handed)
        self.named = named
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement in simple form: perhaps nothing, perhaps the body of a loop or a branch."""
        match stmt:
            case ins.Let():
                return self._let(stmt)
            case ins.If():
                return self._if(stmt)
            case ins.For():
                return self._for(stmt)
            case ins.While():
                for c in stmt.carried:
                    if c.yielded == c.inner:
                        self._bind(c.inner, self.use(c.init))
        return super().statement(stmt)

    def _bind(self, name: Name, use: Use) -> None:
        if isinstance(name, Value):
            assert isinstance(use, Value)
            self.tiles[name] = use
        else:
            assert not isinstance(use, Value)
            self.scalars[name] = use
            self.facts.define(name, use)

    def _let(self, stmt: ins.Let) -> Iterable[Stmt]:
        value = self.expr(stmt.value)
        if _is_written_out(value):
            self._bind(stmt.var, value)
            return ()
        if value in self.named:
            self._bind(stmt.var, self.named[value])
            return ()
        self.named[value] = stmt.var
        self.facts.define(stmt.var, value)
        return (stmt if value is stmt.value else replace(stmt, value=value),)

    def _if(self, stmt: ins.If) -> Iterable[Stmt]:
        condition = self.expr(stmt.condition)
        if isinstance(condition, Const):
            body = self.body(stmt.then if condition.value else stmt.otherwise)
            for j in stmt.joined:
                self._bind(j.result, self.use(j.then if condition.value else j.otherwise))
            return body
        rebuilt = self.rebuild(stmt)
        assert isinstance(rebuilt, ins.If)
        for j in rebuilt.joined:
            if j.then == j.otherwise and not _has_float(j.then):
                self._bind(j.result, j.then)
        return (rebuilt,)

    def _for(self, stmt: ins.For) -> Iterable[Stmt]:
        iterations = self._iterations(stmt)
        if iterations == 0:
            for c in stmt.carried:
                self._bind(c.result, self.use(c.init))
            return ()
        if iterations == 1:
            self._bind(stmt.var, self.expr(stmt.start))
            for c in stmt.carried:
                self._bind(c.inner, self.use(c.init))
            body = self.body(stmt.body)
            for c in stmt.carried:
                self._bind(c.result, self.use(c.yielded))
            return body
        unchanged = [c for c in stmt.carried if c.yielded == c.inner]
        for c in unchanged:
            self._bind(c.inner, self.use(c.init))
        rebuilt = self.rebuild(stmt)
        for c in unchanged:
            self._bind(c.result, self.use(c.init))
        return (rebuilt,)

    def _iterations(self, stmt: ins.For) -> int | None:
        """0 or 1 where the loop surely has as many iterations."""
        start, stop, step = (self.expr(e) for e in (stmt.start, stmt.stop, stmt.step))
        if not isinstance(step, Const) or not step.value:
            return None
        second = affine.simplify(Binary("add", start, step, step.dtype))
        op = "lt" if step.value > 0 else "gt"
        begins, goes_on = (self._decide(Binary(op, at, stop, BOOL)) for at in (start, second))
        if begins is False:
            return 0
        # With a start and a step of a machine's width the next value might wrap: index does not.
        return 1 if begins and goes_on is False and step.dtype == INDEX else None

    def _decide(self, condition: Expr) -> bool | None:
        simple = self.expr(condition)
        return bool(simple.value) if isinstance(simple, Const) else None


def _is_written_out(value: Expr) -> bool:
    if isinstance(value, Const | Var):
        return True
    nodes = list(walk(value))
    plain = not any(isinstance(n, Read) for n in nodes)
    return value.dtype == INDEX and plain and len(nodes) <= _MAX_WRITTEN_OUT


def _has_float(use: Use) -> bool:
    """Whether two equal uses may still differ in the sign of a zero."""
    return not isinstance(use, Value) and any(n.dtype.is_float for n in walk(use))
