"""Layouts for GPUs: which thread of a turn holds which element of each tile.

    %x = load @a[m : +16, k : +16] : f16[16, 16]
    %y = load @b[k : +16, n : +8] : f16[16, 8]
    %d = dot %x, %y : f32[16, 8]

becomes, for a turn of one warp,

    %x = load @a[m : +16, k : +16] : f16[16, 16] `column_local(2, 2).spatial(8, 4).local(1, 2)`
    %y = load @b[k : +16, n : +8] : f16[16, 8] `local(2, 1).column_spatial(4, 8).local(2, 1)`
    %d = dot %x, %y, atom="mma.m16n8k16" : f32[16, 8] `local(2, 1).spatial(8, 4).local(1, 2)`

How it is found, a file each: `threads` says how many threads a turn may have, and `warp_split` whether
warps share the k of a product. `layout_regions` joins the tiles that have one layout, `relations` says
how the layouts of a statement follow from each other, `matrix` and `blocked` make the layouts that
products and memory want. `cost` prices conversions, accesses and products, `statement_costs` adds them
up for a kernel, `proposals` names what a region may take and `solve` takes the cheapest. `apply` writes
the kernel anew, with a ConvertLayout where a reader wants another layout than the tile has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.passes.layouts.apply import apply
from dslc.compiler.passes.layouts.layout_regions import find_regions
from dslc.compiler.passes.layouts.solve import solve
from dslc.compiler.passes.layouts.threads import thread_counts
from dslc.compiler.passes.layouts.warp_split import parts, split_over_warps
from dslc.compiler.targets import Target


@dataclass(frozen=True, slots=True)
class AssignLayouts:
    """Gives every tile of every kernel a layout over the threads of a turn.

    Afterwards `Kernel.threads` is set; operands and results of elementwise statements have one layout;
    the result of a Reduce has the operand's reduced layout; a Dot with an `atom` has the operands and
    the result that its unit wants, one without has any, one that reads memory is waited for at once;
    on-chip buffers are in shared memory. Explicit layouts stay as they are. `warps` forces the number
    of warps of a turn.
    """

    target: Target
    warps: int | None = None
    name: ClassVar[str] = "layouts"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with layouts, places of buffers and atoms of products.

        DSL0520 where explicit layouts have different numbers of threads, DSL0521 where the machine
        does not run such a number.
        """
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        ways = [
            (way, threads)
            for threads in thread_counts(kernel, self.target, self.warps)
            for way in self._splits(kernel, threads)
        ]
        solved = [(way, solve(find_regions(way), self.target, threads)) for way, threads in ways]
        return apply(*min(solved, key=lambda pair: pair[1].cycles))

    def _splits(self, kernel: Kernel, threads: int) -> Iterator[Kernel]:
        yield kernel
        for count in parts(kernel, self.target, threads):
            yield split_over_warps(kernel, count)
