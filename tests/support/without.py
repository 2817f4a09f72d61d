"""A kernel without one of its statements, for tests of what that statement is there for."""

from __future__ import annotations

from collections.abc import Iterable

from dslc.compiler.ir import Kernel, Memory
from dslc.compiler.ir.expr import Expr
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, with_body


class _Without(Rewriter):
    def __init__(self, left_out: Stmt) -> None:
        super().__init__()
        self.left_out = left_out

    def memory(self, memory: Memory) -> Memory:
        return memory

    def expr(self, expr: Expr) -> Expr:
        return expr

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        return () if stmt is self.left_out else super().statement(stmt)


def without(kernel: Kernel, stmt: Stmt) -> Kernel:
    """The kernel but for the statement; all others stay the same objects, but for those around it."""
    return with_body(kernel, _Without(stmt).body(kernel.body))
