"""What is known about the scalars that a statement sees, and the rewriter that carries it along.

Facts come from dims (never negative), requirements, ranges of loops and of the grid, conditions that
enclose a statement, and invariants of carried scalars. A loop variable `k in range(a, b, s)` is
`a + s * t` with a count t >= 0, so that what is divisible by s is seen to be.
"""

from __future__ import annotations

import math

from dslc.compiler.analysis.proof import Prover
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, linear, simplify
from dslc.compiler.ir.expr import (
    FALSE,
    NEGATED,
    TRUE,
    Binary,
    Const,
    Expr,
    Select,
    Unary,
    Var,
    free_vars,
    index,
    map_children,
    substitute,
)
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, Use
from dslc.compiler.ir.values import Memory, Value


class Facts:
    """Relations, residues and definitions that hold at a place."""

    def __init__(self) -> None:
        self.relations: list[Linear] = []  # each at least 0
        self.residues: dict[Expr, tuple[int, int]] = {}
        self.values: dict[Var, Expr] = {}
        self._ready: Prover | None = None

    @property
    def prover(self) -> Prover:
        """A prover over the relations and residues of now."""
        if self._ready is None:
            self._ready = Prover(self.relations, self.residues)
        return self._ready

    def learn(self, *relations: Linear) -> None:
        """Each of these forms is at least 0."""
        self.relations += [r for r in relations if not r.is_constant and r not in self.relations]
        self._ready = None

    def copy(self) -> Facts:
        """The same facts, to be added to without changing these."""
        other = Facts()
        other.relations = list(self.relations)
        other.residues = dict(self.residues)
        other.values = dict(self.values)
        return other

    # Questions

    def form(self, expr: Expr) -> Linear:
        """The normal form over what the variables are known to be."""
        return linear(substitute(expr, self.values))

    def nonnegative(self, form: Linear) -> bool:
        """Whether `form >= 0` could be proved; the form is one of `self.form`."""
        return self.prover.nonnegative(form)

    def decide(self, condition: Expr) -> bool | None:
        """Whether a condition holds, or does not; None where neither could be proved."""
        match condition:
            case Const(value):
                return bool(value)
            case Unary("not" | "invert", x):
                inner = self.decide(x)
                return None if inner is None else not inner
            case Binary("and" | "or", x, y):
                either = condition.op == "or"
                sides = self.decide(x), self.decide(y)
                if either in sides:
                    return either
                return None if None in sides else not either
            case Binary(op, x, y) if op in NEGATED and x.dtype == INDEX:
                return self._decide_comparison(op, self.form(x) - self.form(y))
        return None

    def _decide_comparison(self, op: str, d: Linear) -> bool | None:
        one = Linear(constant=1)
        if op in ("gt", "le"):
            d, op = -d, {"gt": "lt", "le": "ge"}[op]
        if op in ("ge", "lt"):
            if self.nonnegative(d):
                return op == "ge"
            return op == "lt" if self.nonnegative(-d - one) else None
        modulus, residue = self.prover.congruence(d)
        if modulus != 1 and residue:
            return op == "ne"
        if self.nonnegative(d - one) or self.nonnegative(-d - one):
            return op == "ne"
        return op == "eq" if self.nonnegative(d) and self.nonnegative(-d) else None

    def simplify(self, expr: Expr) -> Expr:
        """The expression in normal form, without what the facts make needless."""
        return simplify(self._reduce(simplify(expr)))

    def _reduce(self, expr: Expr) -> Expr:
        expr = map_children(expr, self._reduce)
        match expr:
            case Binary("floordiv" | "mod", x, Const(c)) if c > 0 and expr.dtype == INDEX:
                return self._reduce_division(expr, x, int(c))
            case Binary("min" | "max", x, y) if expr.dtype == INDEX:
                d = self.form(x) - self.form(y)
                if self.nonnegative(d):
                    return y if expr.op == "min" else x
                if self.nonnegative(-d):
                    return x if expr.op == "min" else y
            case Binary(op) if op in NEGATED and expr.x.dtype == INDEX:
                decided = self.decide(expr)
                if decided is not None:
                    return TRUE if decided else FALSE
            case Select(condition, x, y):
                decided = self.decide(condition)
                if decided is not None:
                    return x if decided else y
        return expr

    def _reduce_division(self, expr: Binary, x: Expr, c: int) -> Expr:
        form = self.form(x)
        if expr.op == "mod":
            modulus, residue = self.prover.congruence(form)
            if modulus % c == 0:
                return index(residue % c)
        if self.nonnegative(form) and self.nonnegative(Linear(constant=c - 1) - form):
            return index(0) if expr.op == "floordiv" else x
        return expr

    # Learning

    def define(self, var: Var, value: Expr) -> None:
        """The variable is this expression wherever it is seen."""
        if var.dtype == INDEX and var not in free_vars(value):
            self.values[var] = substitute(value, self.values)

    def assume(self, condition: Expr, holds: bool = True) -> None:
        """The condition holds, or does not, from here on."""
        match condition:
            case Unary("not" | "invert", x) if condition.dtype == BOOL:
                self.assume(x, not holds)
            case Binary("and", x, y) if holds and condition.dtype == BOOL:
                self.assume(x)
                self.assume(y)
            case Binary("or", x, y) if not holds and condition.dtype == BOOL:
                self.assume(x, False)
                self.assume(y, False)
            case Binary(op, x, y) if op in NEGATED and x.dtype == INDEX:
                difference = self.form(x) - self.form(y)
                self._compare(op if holds else NEGATED[op], difference)

    def _compare(self, op: str, d: Linear) -> None:
        """`d op 0` holds."""
        one = Linear(constant=1)
        match op:
            case "ge":
                self.learn(d)
            case "gt":
                self.learn(d - one)
            case "le":
                self.learn(-d)
            case "lt":
                self.learn(-d - one)
            case "eq":
                self.learn(d, -d)
                self._equal_to_zero(d)
            case "ne" if self.nonnegative(d):
                self.learn(d - one)

    def _equal_to_zero(self, d: Linear) -> None:
        """`x % c - r == 0` says what x leaves modulo c."""
        if len(d.terms) != 1:
            return
        ((atom, k),) = d.terms.items()
        match atom:
            case Binary("mod", x, Const(c)) if c > 0 and d.constant % k == 0:
                inner = linear(x)
                if len(inner.terms) == 1:
                    ((symbol, factor),) = inner.terms.items()
                    self._congruent(symbol, factor, -d.constant // k - inner.constant, int(c))

    def _congruent(self, symbol: Expr, factor: int, residue: int, modulus: int) -> None:
        """`factor * symbol` is the residue modulo the modulus."""
        common = math.gcd(factor, modulus)
        if residue % common:
            return  # nothing satisfies it
        modulus //= common
        residue = residue // common * pow(factor // common, -1, modulus) % modulus
        old_modulus, old_residue = self.residues.get(symbol, (1, 0))
        shared = math.gcd(old_modulus, modulus)
        if (residue - old_residue) % shared:
            return
        step = (residue - old_residue) // shared * pow(old_modulus // shared, -1, modulus // shared)
        both = math.lcm(old_modulus, modulus)
        self.residues[symbol] = both, (old_residue + step * old_modulus) % both
        self._ready = None

    def assume_range(self, var: Var, start: Expr, stop: Expr, step: Expr) -> None:
        """The variable is an iteration of `range(start, stop, step)`."""
        if var.dtype != INDEX:
            return
        first, last, by = self.form(start), self.form(stop), self.form(step)
        one = Linear(constant=1)
        if by.is_constant and by.constant:
            count = Var(f"{var.name}#", INDEX)  # no name of the language has a #
            value = Binary("add", start, Binary("mul", count, step, INDEX), INDEX)
            self.values[var] = substitute(value, self.values)
            here = first + Linear({count: by.constant})
            self.learn(Linear({count: 1}))
            self.learn(last - here - one if by.constant > 0 else here - last - one)
        elif self.nonnegative(by - one):
            here = self.form(var)
            self.learn(here - first, last - here - one)

    def assume_invariant(self, carried: Carried, body: Body, after: bool) -> None:
        """What a carried scalar keeps between iterations, for the body or for after the loop."""
        var, init, yielded = carried.inner, carried.init, carried.yielded
        if isinstance(init, Value) or isinstance(yielded, Value) or isinstance(var, Value):
            return
        if var.dtype != INDEX:
            return
        named = carried.result if after else var
        assert isinstance(named, Var)
        inside = self.copy()
        for stmt in body:
            if isinstance(stmt, ins.Let):
                inside.define(stmt.var, stmt.value)
        first, next_, here = self.form(init), inside.form(yielded), self.form(named)
        change = next_ - inside.form(var)
        if change.is_constant and change.constant >= 0:
            self.learn(here - first)
        if change.is_constant and change.constant <= 0:
            self.learn(first - here)
        match list(next_.terms.items()):
            case [(Binary("mod", _, Const(c)), 1)] if c > 0 and next_.constant == 0:
                top = Linear(constant=int(c) - 1)
                if self.nonnegative(first) and self.nonnegative(top - first):
                    self.learn(here, top - here)


def kernel_facts(kernel: Kernel) -> Facts:
    """What holds at the head of the body of a kernel."""
    facts = Facts()
    facts.learn(*(Linear({dim: 1}) for dim in kernel.dims))
    for memory in kernel.tensors:
        facts.learn(*(facts.form(e) for e in memory.shape if e.dtype == INDEX))
    for requirement in kernel.requires:
        facts.assume(requirement.condition)
    for axis in kernel.grid:
        facts.assume_range(axis.var, axis.start, axis.stop, axis.step)
    return facts


class FactsRewriter(Rewriter):
    """A rewriter of statements that knows at each what holds there, in `self.facts`.

    Memories and expressions stay as they are where a pass does not say otherwise.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.facts = kernel_facts(kernel)

    def memory(self, memory: Memory) -> Memory:
        """The memory as it is declared."""
        return memory

    def expr(self, expr: Expr) -> Expr:
        """The expression as it is."""
        return expr

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body under the facts that hold inside it."""
        outside = self.facts
        self.facts = outside.copy()
        self._enter_body(stmt, which)
        rewritten = super().nested(stmt, which, handed)
        self.facts = outside
        return rewritten

    def _enter_body(self, stmt: Stmt, which: int) -> None:
        match stmt:
            case ins.For():
                self.facts.assume_range(stmt.var, stmt.start, stmt.stop, stmt.step)
                for c in stmt.carried:
                    self.facts.assume_invariant(c, stmt.body, after=False)
            case ins.While():
                for c in stmt.carried:
                    self.facts.assume_invariant(c, stmt.body, after=False)
                if which == 1:
                    for s in stmt.before:
                        self._learn(s)
                    self.facts.assume(stmt.condition)
            case ins.If():
                self.facts.assume(stmt.condition, which == 0)

    def rebuild(self, stmt: Stmt) -> Stmt:
        """The statement rewritten, and what it says learnt for those after it."""
        rebuilt = super().rebuild(stmt)
        self._learn(rebuilt)
        return rebuilt

    def _learn(self, stmt: Stmt) -> None:
        match stmt:
            case ins.Let(var=var, value=value):
                self.facts.define(var, value)
            case ins.For(carried=carried, body=body) | ins.While(carried=carried, body=body):
                for c in carried:
                    self.facts.assume_invariant(c, body, after=True)
            case ins.If(condition=condition, joined=joined):
                for j in joined:
                    if isinstance(j.result, Var) and not isinstance(j.then, Value):
                        assert not isinstance(j.otherwise, Value)
                        value = Select(condition, j.then, j.otherwise, j.result.dtype)
                        self.facts.define(j.result, value)
