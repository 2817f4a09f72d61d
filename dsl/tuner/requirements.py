"""What a kernel requires of its dims, checked for known sizes before anything is scheduled."""

from __future__ import annotations

from collections.abc import Mapping

from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.workload import Known, value_of


def check_requirements(program: TileProgram, sizes: Mapping[str, int]) -> None:
    """DSL0759 for a requirement that these sizes break; what depends on more is for the call."""
    if not isinstance(program, Kernel):
        return
    known: Known = {d: Const(sizes[d.name], d.dtype) for d in program.dims}
    for requirement in program.requires:
        if value_of(requirement.condition, known) == 0:
            raise error("DSL0759", f"it requires {requirement.text}", requirement.loc)
