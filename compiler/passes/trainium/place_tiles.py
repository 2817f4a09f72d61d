"""Places every tile of a kernel on the partitions of a NeuronCore, with conversions where none fits.

Before (tests/ir/place-tiles/example.tir), for y = (x u) v:

    %low = dot %x, %u : f32[128, 64]
    %t = cast %low : bf16[128, 64]
    ...
    %y = dot %t, %v : f32[128, 512]

After: the first product gives its result with the columns along the partitions, as the second wants it.

    %low = dot %x, %u, atom="nc_matmul.swap" : f32[128, 64] `spatial(1, 64).local(128, 1)`
    %t = cast %low : bf16[128, 64] `spatial(1, 64).local(128, 1)`
    ...
    %y = dot %t, %v, atom="nc_matmul" : f32[128, 512] `spatial(128, 1).local(1, 512)`

`nc_matmul` multiplies with `a` as the stationary operand, with the suffix `.swap` with `b`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.passes.trainium.apply import apply
from dslc.compiler.passes.trainium.rematerialize import remake
from dslc.compiler.passes.trainium.solve import solve
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import engines_of


@dataclass(frozen=True, slots=True)
class PlaceTiles:
    """Gives every tile its placement. No tile has a layout over threads any more."""

    target: Target
    name: ClassVar[str] = "place-tiles"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with a layout on every tile."""
        return map_kernels(program, self.kernel)

    def kernel(self, kernel: Kernel) -> Kernel:
        """One kernel of it."""
        remade = remake(kernel)
        return apply(remade, solve(remade, engines_of(self.target)))
