"""Masks that hold for every element, by the numbers that counters may have, are left out.

Before (tests/ir/whole-masks/example.tir), where all blocks lie within the 128 columns:

    %block = where %mask, %x_1, %none : f32[4, 64]
    %p = reduce max %block, axis=1 : f32[4]

After:

    %p = reduce max %x_1, axis=1 : f32[4]

A mask is for the last block of a row that is no whole multiple of blocks. Sizes are known when a kernel
is compiled for a NeuronCore, and a mask that none of its blocks needs costs as much as one that does:
its parts lie along the partitions, and go through memory to lie along each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from dslc.compiler.ir import Kernel, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import evaluate
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import definitions, walk
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.simplification.uniform_masks import everywhere

_MOST = 4  # counters in one mask


@dataclass(frozen=True, slots=True)
class WholeMasks:
    """Takes the first tile of a `where` whose condition is known to hold."""

    name: ClassVar[str] = "whole-masks"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program without masks that mask nothing."""
        return map_kernels(program, lambda kernel: _Masks(kernel).kernel(kernel))


class _Masks(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._made = definitions(kernel.body)
        self._ends = _ends(kernel)
        self._taken: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """What a mask would have let through."""
        return self._taken.get(value, value)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """Nothing in place of a mask that holds."""
        match stmt:
            case ins.Where(out=out, condition=condition, x=x):
                test = everywhere(condition, self._made)
                if test is not None and _always(test, self._ends):
                    self._taken[out] = self.value(x)
                    return ()
        return super().statement(stmt)


def _ends(kernel: Kernel) -> dict[ex.Var, tuple[int, int]]:
    """The first and last number of each counter whose bounds are known."""
    loops = [(a.var, a.start, a.stop, a.step) for a in kernel.grid]
    loops += [(s.var, s.start, s.stop, s.step) for s in walk(kernel.body) if isinstance(s, ins.For)]
    ranges = {var: range_of(start, stop, step) for var, start, stop, step in loops}
    return {var: (numbers[0], numbers[-1]) for var, numbers in ranges.items() if numbers}


def _always(test: ex.Expr, ends: Mapping[ex.Var, tuple[int, int]]) -> bool:
    """Whether a test of sums of counters holds at all their ends, and so between them."""
    counters = sorted(ex.free_vars(test), key=lambda var: var.name)
    if len(counters) > _MOST or any(v not in ends for v in counters) or not _is_affine(test):
        return False
    for corner in product(*(ends[v] for v in counters)):
        numbers = zip(counters, corner, strict=True)
        known: dict[ex.Var, ex.Expr] = {v: ex.Const(n, v.dtype) for v, n in numbers}
        if evaluate(test, known) is not True:
            return False
    return True


def _is_affine(test: ex.Expr) -> bool:
    """Whether each comparison is of sums and of products by numbers: true between where at the ends."""
    for node in ex.walk(test):
        match node:
            case ex.Var() | ex.Const() | ex.Convert():
                continue
            case ex.Binary(op="and" | "le" | "lt" | "ge" | "gt" | "add" | "sub"):
                continue
            case ex.Binary(op="mul", x=x, y=y) if isinstance(x, ex.Const) or isinstance(
                y, ex.Const
            ):
                continue
        return False
    return True
