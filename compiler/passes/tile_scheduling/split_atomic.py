"""Atomic split-K: each part of a split reduction adds what it has to the stored result by itself.

    %b = add %sum, %bias : f32[16]             %y = cast %sum : bf16[16]
    %y = cast %b : bf16[16]              ->    atomic_rmw add @y[m : +16], %y
    store @y[m : +16], %y

What follows the loop is affine in its sums, f(sum) = g(sum) + f(0): part 0 stores f of what stood
before the loop, and every part adds g of its own sum. What does not depend on the sums falls away.
"""

from __future__ import annotations

from collections.abc import Collection

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Substitution
from dslc.compiler.ir.text.printer import print_statement
from dslc.compiler.ir.traverse import Body, Name, users, walk, writes
from dslc.compiler.ir.values import Role, Value

_SHAPES = (ins.Reshape, ins.Transpose, ins.Broadcast, ins.Repeat, ins.Extract)
_ADDED = ("f16", "bf16", "f32", "f64", "i32", "u32", "i64", "u64")  # to memory, atomically


def contributions(after: Body, sums: Collection[Name]) -> Body:
    """What follows the loop, over one part's sums. DSL0514 where it is more than a sum of them."""
    rewriter = _Contributions(set(sums))
    return tuple(s for stmt in after for s in rewriter.statement(stmt))


class _Contributions(Substitution):
    """`parts` are tiles of which every part has one; what else is added to them falls away."""

    def __init__(self, parts: set[Name]) -> None:
        super().__init__()
        self.parts = parts

    def statement(self, stmt: Stmt) -> Body:
        """The statement over parts; nothing where part 0 alone runs it."""
        if self.parts.isdisjoint(users((stmt,))):
            acts = any(writes(s) or isinstance(s, ins.Print | ins.Assert) for s in walk((stmt,)))
            return () if acts else (stmt,)
        match stmt:
            case ins.Store(region=region, x=x) if _is_added_to(stmt):
                return (ins.AtomicRmw("add", self.region(region), self.value(x), loc=stmt.loc),)
            case ins.AtomicRmw(op="add", ids=(), out=None):
                return (self.rebuild(stmt),)
            case ins.Binary(out=out, op="add" | "sub" as op, x=x, y=y):
                if x in self.parts and y in self.parts:
                    return self._made(stmt, out)
                if x in self.parts or op == "add":
                    self.bind(out, self.value(x if x in self.parts else y))
                    self.parts.add(out)
                    return ()
            case ins.Binary(out=out, op="mul", x=x, y=y) if not {x, y} <= self.parts:
                return self._made(stmt, out)
            case ins.Binary(out=out, op="div", y=y) if y not in self.parts:
                return self._made(stmt, out)
            case ins.Unary(out=out, op="neg") | ins.Reduce(out=out, op="sum"):
                return self._made(stmt, out)
            case ins.Cast(out=out, x=x) if _keeps_sums(stmt):
                return self._made(stmt, out)
        if isinstance(stmt, _SHAPES):
            return self._made(stmt, stmt.out)
        raise _refused(stmt)

    def _made(self, stmt: Stmt, out: Value) -> Body:
        self.parts.add(out)
        return (self.rebuild(stmt),)


def _is_added_to(stmt: ins.Store) -> bool:
    memory = stmt.region.memory
    plain = stmt.where is None and memory.role is not Role.BUFFER
    return plain and memory.dtype.name in _ADDED


def _keeps_sums(stmt: ins.Cast) -> bool:
    """Whether a sum of casts is the cast of the sum, but for rounding."""
    if stmt.out.type.dtype.is_float:
        return True
    return not stmt.x.type.dtype.is_float and not stmt.saturate


def _refused(stmt: Stmt) -> DiagnosticError:
    return error(
        "DSL0514",
        "parts that are added one by one give no such result: what follows the loop is a sum\n"
        f"  in: {print_statement(stmt)}",
        stmt.loc,
        hint="without atomic= the last part to arrive sees the whole sum",
    )
