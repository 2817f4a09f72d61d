"""Layouts for GPUs: which thread of a turn holds which element of each tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.passes.gpu_layout.apply import apply
from dslc.compiler.passes.gpu_layout.solve import Solver
from dslc.compiler.passes.gpu_layout.threads import choose_threads
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
        threads = choose_threads(kernel, self.target, self.warps)
        return apply(kernel, Solver(kernel, self.target, threads).solve())
