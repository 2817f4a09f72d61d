"""Registers of virtual ones: what is live at a time, or written at once, is apart."""

from __future__ import annotations

from dslc.codegen.aarch64.machine_code.allocation import allocate
from dslc.codegen.aarch64.machine_code.blocks import Effect, File, Inst, Reg
from dslc.codegen.aarch64.machine_code.stream import Stream


def test_results_that_nobody_reads_are_apart() -> None:
    """An exclusive store writes a status and a value between its lines, whoever wants them."""
    base, value, status = Reg(File.X), Reg(File.X), Reg(File.X)
    lines = [
        Inst("adr {0}, .", (base,), 1),
        Inst("ldxrb {0:w}, [{2}]\n\tstxrb {1:w}, {0:w}, [{2}]", (value, status, base), 2,
             effect=Effect.STORE),
        Inst("str {0}, [{0}]", (base,), effect=Effect.STORE),
    ]  # fmt: skip
    _, numbers = allocate(list(lines), Stream())
    assert len({numbers[r] for r in (base, value, status)}) == 3
