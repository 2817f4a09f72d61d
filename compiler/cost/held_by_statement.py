"""What is held while a statement runs: registers of a thread, bytes of shared memory. Estimates."""

from __future__ import annotations

from dslc.compiler.analysis.buffer_liveness import Liveness
from dslc.compiler.cost.registers import FIXED, live_words
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.values import Place
from dslc.compiler.passes.memory.memory_plan import buffer_bytes


def registers_at(kernel: Kernel) -> dict[ins.Stmt, int]:
    """Registers that a thread would like to have at each statement; what is beyond 255 spills.

    Empty for machines whose kernels have no threads.
    """
    if kernel.threads is None:
        return {}
    return {stmt: int(FIXED + words) for stmt, words in live_words(kernel).items()}


def shared_at(kernel: Kernel) -> dict[ins.Stmt, int]:
    """Bytes of the on-chip buffers that live at each statement."""
    liveness = Liveness(kernel.body)
    held: dict[ins.Stmt, int] = {}
    for live in liveness.lives:
        if live.memory.place is Place.REGISTER:
            continue
        try:
            size = buffer_bytes(live.memory)
        except DiagnosticError:  # a size that is known when it runs
            continue
        for number in range(live.start, live.end + 1):
            stmt = liveness.by_number.get(number)
            if stmt is not None:
                held[stmt.stmt] = held.get(stmt.stmt, 0) + size
    return held
