"""Bounds: accesses that are proved to stay inside their memory lose their check.

Before (tests/ir/bounds/blocks_of_k.tir):

    require K % 64 == 0, "K % BK == 0"
    grid m in range(0, M, 16)
    for k in range(0, K, 64) {
      %x = load @x[m : +16, k : +64] : f32[16, 64]
      store @y[m : +16, k : +64], %x
    }

After:

    for k in range(0, K, 64) {
      %x = load @x[m : +16, k : +64!] : f32[16, 64]
      store @y[m : +16, k : +64!], %x
    }

Here k <= K - 1 and K - k is a multiple of 64, so k + 64 <= K; M may end within a tile, so the check of
that axis stays. `other` is dropped where nothing is left to be out of bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.ir.expr import Expr
from dslc.compiler.ir.indexed import numbered
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels, with_body
from dslc.compiler.ir.values import AxisSlice, Region


@dataclass(frozen=True, slots=True)
class Bounds:
    """Clears `checked` on the axes of regions that are proved in bounds."""

    name: str = "bounds"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with the checks that are left."""
        return map_kernels(program, lambda kernel: _Prover(kernel).kernel(kernel))


class _Prover(FactsRewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.gathered: tuple[int, ...] = ()

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with its body rewritten: nothing else has accesses."""
        return with_body(kernel, self.body(kernel.body))

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement with its regions rewritten."""
        # The gathered axes are indexed by ids: nothing is known of them.
        self.gathered = numbered(stmt)
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, ins.Load) and not any(a.is_guarded for a in rebuilt.region.axes):
            if rebuilt.where is not None:
                return (rebuilt,)
            return (rebuilt if rebuilt.other is None else replace(rebuilt, other=None),)
        return (rebuilt,)

    def region(self, region: Region) -> Region:
        """The region with the checks that are needed."""
        axes = tuple(
            self._axis(axis, extent) if i not in self.gathered else axis
            for i, (axis, extent) in enumerate(zip(region.axes, region.memory.shape, strict=True))
        )
        return region if axes == region.axes else replace(region, axes=axes)

    def _axis(self, axis: AxisSlice, extent: Expr) -> AxisSlice:
        if not axis.checked or axis.start.dtype != INDEX or extent.dtype != INDEX:
            return axis
        first, whole = self.facts.form(axis.start), self.facts.form(extent)
        last = first + Linear(constant=(axis.count - 1) * axis.step + 1)
        if axis.end is not None:
            if not self.facts.nonnegative(self.facts.form(axis.end) - last):
                return axis
            axis = replace(axis, end=None)
        inside = self.facts.nonnegative(first) and self.facts.nonnegative(whole - last)
        return replace(axis, checked=False) if inside else axis
