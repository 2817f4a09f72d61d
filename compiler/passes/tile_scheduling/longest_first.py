"""Longest first: the order of turns in which those that take longest begin first.

Before (tests/ir/longest-first/example.tir):

    grid h in range(0, 4, 1), s in range(0, S, 16)
    %zero = full f32(0.0) : f32[16]
    %sum = for l in range(0, s + 16, 16) carry (%acc : f32[16] = %zero) {

After:

    grid h in range(0, 4, 1), s in range(0, S, 16) reversed

Where a loop has the more iterations the further an axis of the grid has come, blocks that begin last
would run longest and alone. Begun first, they leave the short ones to fill the gaps at the end
(Graham's rule for scheduling, 1969). Only the order changes, of which nothing is promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.expr import Binary, Convert, Expr, Unary, Var, children
from dslc.compiler.ir.program import GridAxis, Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import walk


@dataclass(frozen=True, slots=True)
class LongestFirst:
    """Reverses the axes of grids along which loops grow."""

    name: str = "longest-first"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its grids in order."""
        return map_kernels(program, _ordered)


def _ordered(kernel: Kernel) -> Kernel:
    if any(isinstance(s, ins.SemaphoreWait) for s in walk(kernel.body)):
        return kernel  # turns that wait for others are begun after these
    if kernel.cluster is not None:
        return kernel  # their numbers are ranks
    known = {s.var: s.value for s in walk(kernel.body) if isinstance(s, ins.Let)}
    loops = [s for s in walk(kernel.body) if isinstance(s, ins.For)]
    lengths = [Binary("sub", s.stop, s.start, s.stop.dtype) for s in loops]
    grid = tuple(_axis(a, lengths, known) for a in kernel.grid)
    return kernel if grid == kernel.grid else replace(kernel, grid=grid)


def _axis(axis: GridAxis, lengths: Iterable[Expr], known: Mapping[Var, Expr]) -> GridAxis:
    growths = {growth(simplify(n), axis.var, known) for n in lengths}
    return replace(axis, reversed=True) if growths <= {0, 1} and 1 in growths else axis


def growth(expr: Expr, var: Var, known: Mapping[Var, Expr]) -> int | None:
    """1 where the expression only grows with the variable, -1 where it only falls, 0 where it stays.

    None where it may do either. `known` are the values of scalars.
    """
    growths: dict[Expr, int | None] = {}

    def of(e: Expr) -> int | None:
        if e not in growths:  # scalars are often read several times
            growths[e] = growing(e)
        return growths[e]

    def growing(e: Expr) -> int | None:
        match e:
            case Var():
                return of(known[e]) if e in known else int(e == var)
            case Unary("neg", x):
                inner = of(x)
                return None if inner is None else -inner
            case Convert(x):
                return of(x)
            case Binary("add" | "sub" | "min" | "max", x, y):
                a, b = of(x), of(y)
                if a is None or b is None:
                    return None
                b = -b if e.op == "sub" else b
                return None if a * b < 0 else a or b
            case Binary("mul" | "floordiv", x, y) if of(y) == 0:
                return of(x)  # by what is positive in the bounds of loops
        return 0 if all(of(x) == 0 for x in children(e)) else None

    return of(expr)
