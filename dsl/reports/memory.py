"""Where on-chip buffers lie, statement by statement."""

from __future__ import annotations

from typing import Any

from dslc.compiler.analysis.buffer_liveness import Liveness
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.passes.memory.memory_plan import buffer_bytes


def memory_of(program: TileProgram) -> list[dict[str, Any]]:
    """A plan for each kernel with planned buffers: its bytes, how many statements, its buffers.

    A buffer has a name, a type, the source's line, an offset and a size in bytes, and the first and
    last statement of its life; `lines` are those of the statements, by number from the first.
    """
    plans = []
    for kernel in kernels(program):
        liveness = Liveness(kernel.body)
        buffers: list[tuple[str, str, int, int, int, int, int]] = []
        for live in liveness.lives:
            memory = live.memory
            try:
                size = buffer_bytes(memory)
            except DiagnosticError:  # known when it runs
                continue
            if memory.offset is not None:
                shape = ", ".join(map(str, memory.shape))
                line = memory.loc.line if memory.loc else 0
                kind = f"{memory.dtype}[{shape}]"
                at = (memory.offset, size, live.start, live.end)
                buffers.append((memory.name, kind, line, *at))
        if buffers:
            numbers = sorted(liveness.by_number)
            locs = (liveness.by_number[n].stmt.loc for n in numbers)
            plans.append(
                {
                    "kernel": kernel.name,
                    "bytes": max(b[3] + b[4] for b in buffers),
                    "statements": liveness.last,
                    "buffers": buffers,
                    "lines": [loc.line if loc else 0 for loc in locs],
                }
            )
    return plans
