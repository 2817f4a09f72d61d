"""The order of turns: strips in which turns that run at once share what they read.

    grid m in range(0, M, 128), n in range(0, N, 256)       ->    strips(16)

As many turns as the machine has units run at once. Numbered row by row they would read a few rows of
one operand and all columns of the other; as a block of r x c turns, r rows of the one and c columns of
the other, which is least where the block is as high as it is wide in elements. Half of that height is
what ran fastest on an H200: the next turns' columns then come while these rows are still cached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2, sqrt

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import walk
from dslc.compiler.targets import Target


@dataclass(frozen=True, slots=True)
class Strips:
    """Orders the turns of kernels whose products are as fast as what feeds them."""

    target: Target
    name: str = "strips"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its turns in order."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        late = any(isinstance(s, ins.Dot) and s.is_late for s in walk(kernel.body))
        if not late or len(kernel.grid) < 2 or kernel.strips is not None:
            return kernel
        high, wide = (constant(axis.step) for axis in kernel.grid[-2:])
        if not high or not wide or high < 0 or wide < 0:
            return kernel
        return replace(kernel, strips=strip_of(self.target.units, high, wide))


def strip_of(units: int, high: float, wide: float) -> int:
    """The turns that a strip is high, for turns of so many rows and columns and machines of so many."""
    return int(2 ** round(log2(max(1.0, sqrt(units * wide / high) / 2))))
