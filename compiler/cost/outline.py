"""A prediction before the passes, from a kernel's tiles alone: which choices are worth scheduling.

A program of the checker has neither layouts nor copies. Its products are taken to be on the first
atom that fits them, its threads as many as the layout pass would try first; bytes, products, blocks
and waves follow from the tiles, as they do after the passes. What layouts and copies cost is missing,
so the time is no prediction, but the order is good: of the examples' choices, the best after the
passes, or one within a percent of it, is among the first four. It takes a twentieth of the time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from dslc.compiler.cost.model import predict
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.passes.gpu_layout.matrix import atoms_for
from dslc.compiler.passes.gpu_layout.threads import thread_counts
from dslc.compiler.targets import Target


def outline(kernel: Kernel, target: Target, dims: Mapping[str, int]) -> float:
    """Seconds of one launch, good for comparing choices of one kernel.

    DSL0520 and DSL0521 for layouts that the machine cannot run, DSL0530 for a target without rates.
    """
    threads = thread_counts(kernel, target, None)[0]
    return predict(
        dataclasses.replace(_Atoms(target).kernel(kernel), threads=threads), target, dims
    ).seconds


class _Atoms(Rewriter):
    """Products on the first atom that fits."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target

    def statement(self, stmt: ins.Stmt) -> Iterable[ins.Stmt]:
        if isinstance(stmt, ins.Dot) and stmt.atom is None:
            atoms = atoms_for(stmt, self._target)
            if atoms:
                return (dataclasses.replace(stmt, atom=atoms[0].name),)
        return (self.rebuild(stmt),)
