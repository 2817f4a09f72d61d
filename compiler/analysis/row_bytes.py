"""Which accesses to packed rows take whole bytes of them."""

from __future__ import annotations

from dslc.compiler.analysis.alignment import Divisors, divisor
from dslc.compiler.ir import Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Stmt


def takes_whole_bytes(stmt: Stmt, memory: Memory, known: Divisors) -> bool:
    """Whether a statement loads whole bytes of rows that begin on one, if they are stored packed."""
    if not isinstance(stmt, ins.Load):
        return False
    bits, last, width = memory.dtype.bits, stmt.region.axes[-1], constant(memory.shape[-1])
    if width is None or width * bits % 8 or last.step != 1 or last.dropped:
        return False
    return last.size * bits % 8 == 0 and divisor(last.start, known) * bits % 8 == 0
