"""How many turns axes and loops have, and which one this is, as expressions."""

from __future__ import annotations

from dataclasses import replace

from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import simplify
from dslc.compiler.ir.expr import Binary, Const, Expr, index
from dslc.compiler.ir.printer import print_statement
from dslc.compiler.ir.program import GridAxis, Kernel
from dslc.compiler.passes.facts import kernel_facts


def constant_step(step: Expr, loop: ins.For) -> int:
    """The step of a loop over an index; DSL0513 where it is known at the call only."""
    found = simplify(step)
    if not isinstance(found, Const) or loop.var.dtype != INDEX:
        message = "a split reduction has an index variable and a step known at compile time"
        raise error("DSL0513", f"{message}\n  in: {print_statement(loop)}", loop.loc)
    return int(found.value)


def turn_count(start: Expr, stop: Expr, step: int) -> Expr:
    """The number of turns, not above 0 where there is none."""
    distance = sub(stop, start) if step > 0 else sub(start, stop)
    return simplify(div(add(distance, index(abs(step) - 1)), abs(step)))


def axis_turns(kernel: Kernel, axis: GridAxis) -> Expr:
    """How many turns the axis has: an extent, so never negative."""
    number = turn_count(axis.start, axis.stop, grid_step(kernel, axis))
    least = Binary("max", number, index(0), INDEX)
    return kernel_facts(replace(kernel, grid=())).simplify(least)


def axis_turn(axis: GridAxis) -> Expr:
    """Which turn of the axis this is."""
    step = axis.step
    return simplify(Binary("floordiv", sub(axis.var, axis.start), step, INDEX))


def grid_step(kernel: Kernel, axis: GridAxis) -> int:
    """The step of an axis; DSL0513 where it is known at the call only."""
    found = simplify(axis.step)
    if isinstance(found, Const):
        return int(found.value)
    message = f"to split a reduction, the step of {axis.var.name} must be known at compile time"
    raise error("DSL0513", message, kernel.loc)


def add(x: Expr, y: Expr) -> Expr:
    """x + y."""
    return Binary("add", x, y, INDEX)


def sub(x: Expr, y: Expr) -> Expr:
    """x - y."""
    return Binary("sub", x, y, INDEX)


def mul(x: Expr, y: Expr) -> Expr:
    """x * y."""
    return Binary("mul", x, y, INDEX)


def div(x: Expr, y: int) -> Expr:
    """x // y."""
    return Binary("floordiv", x, index(y), INDEX)
