"""What splitting a loop counts: iterations of loops and turns of grids, in index arithmetic."""

from __future__ import annotations

from dataclasses import replace

from dslc.compiler.analysis.scalar_facts import kernel_facts
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, div, largest, sub
from dslc.compiler.ir.expr import Const, Expr
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import GridAxis, Kernel
from dslc.compiler.ir.text.printer import print_statement


def refused(code: str, message: str, stmt: Stmt, hint: str | None = None) -> DiagnosticError:
    """An error at a statement, which it shows."""
    return error(code, f"{message}\n  in: {print_statement(stmt)}", stmt.loc, hint=hint)


def constant_step(step: Expr, loop: ins.For) -> int:
    """The step of a loop over indices; DSL0513 where it is not known."""
    simple = simplify(step)
    if not isinstance(simple, Const) or loop.var.dtype != INDEX:
        message = "a split reduction has an index variable and a step known at compile time"
        raise refused("DSL0513", message, loop)
    return int(simple.value)


def count(start: Expr, stop: Expr, step: int) -> Expr:
    """The number of iterations, not above 0 where there is none."""
    distance = sub(stop, start) if step > 0 else sub(start, stop)
    return simplify(cdiv(distance, abs(step)))


def turns_of(kernel: Kernel, axis: GridAxis) -> Expr:
    """How many turns the axis has: an extent, so never negative."""
    number = count(axis.start, axis.stop, _grid_step(kernel, axis))
    return kernel_facts(replace(kernel, grid=())).simplify(largest(number, 0))


def turn_index(axis: GridAxis) -> Expr:
    """The number of the turn that the axis is at."""
    return simplify(div(sub(axis.var, axis.start), axis.step))


def _grid_step(kernel: Kernel, axis: GridAxis) -> int:
    simple = simplify(axis.step)
    if isinstance(simple, Const):
        return int(simple.value)
    message = f"to split a reduction, the step of {axis.var.name} must be known at compile time"
    raise error("DSL0513", message, kernel.loc)
