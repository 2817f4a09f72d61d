"""Layouts for GPUs: which thread of a turn holds which element of each tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.passes.gpu_layout.apply import apply
from dslc.compiler.passes.gpu_layout.regions import find_regions
from dslc.compiler.passes.gpu_layout.solve import solve
from dslc.compiler.passes.gpu_layout.threads import thread_counts
from dslc.compiler.passes.gpu_layout.warp_split import parts, split_over_warps
from dslc.compiler.targets import Target


@dataclass(frozen=True, slots=True)
class AssignLayouts:
    """Gives every tile of every kernel a layout over the threads of a turn."""

    target: Target
    warps: int | None = None
    name: ClassVar[str] = "layouts"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with layouts, places of buffers and atoms of products."""
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
