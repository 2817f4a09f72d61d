"""How far apart the rows of a copied tile may lie, for machines whose copies count offsets in 32 bits.

Before (tests/ir/copy-reach/example.tir):

    copy_async @b[0 : +64!, 0 : +64!], @a[m : +64, 0 : +64]

After:

    require K <= 8388607, "rows of a are at most 8388607 elements apart"
    ...
    copy_async @b[0 : +64!, 0 : +64!], @a[m : +64, 0 : +64]

A requirement is checked at the call, and within the kernel it is a fact. Where strides are known there
is nothing to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Binary, Expr, index
from dslc.compiler.ir.program import Kernel, Requirement, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.values import Region, Role
from dslc.compiler.passes.pipelining.prefetchable_loads import element_strides

_BYTES = 1 << 31


def limits(region: Region) -> list[tuple[Expr, int]]:
    """The strides of the axes that a tile runs along, with the most that each may be."""
    memory = region.memory
    kept = [
        (stride, a.size * a.step)
        for stride, a in zip(element_strides(memory), region.axes, strict=True)
        if not a.dropped and a.size > 1
    ]
    each = _BYTES * 8 // max(8, memory.dtype.bits) // max(1, len(kept))
    return [(stride, each // size - 1) for stride, size in kept]


@dataclass(frozen=True, slots=True)
class CopyReach:
    """Requires of every kernel that its asynchronous copies reach all of their tiles."""

    name: ClassVar[str] = "copy-reach"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its requirements."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        requirements: dict[Expr, Requirement] = {}
        for stmt in walk(kernel.body):
            if not isinstance(stmt, ins.CopyAsync) or stmt.src.memory.role is Role.BUFFER:
                continue
            for stride, most in limits(stmt.src):
                if constant(stride) is None:
                    text = f"rows of {stmt.src.memory.name} are at most {most} elements apart"
                    condition = Binary("le", stride, index(most), BOOL)
                    requirements.setdefault(condition, Requirement(condition, text))
        new = [
            r for c, r in requirements.items() if all(c != old.condition for old in kernel.requires)
        ]
        return replace(kernel, requires=(*kernel.requires, *new)) if new else kernel
