"""How many blocks the model says a multiprocessor holds, against its sizes."""

from __future__ import annotations

import pytest
from dslc.compiler.cost.model import _resident
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.targets import find_target

H200 = find_target("cuda:sm_90a")


@pytest.mark.parametrize("threads", range(32, 1025, 32))
@pytest.mark.parametrize("registers", [32, 96, 255])
def test_the_blocks_that_are_there_have_what_they_take(threads: int, registers: int) -> None:
    """A block has whole warps in each of four parts, which have a quarter of the registers."""
    kernel = parse_program(f"kernel f[]() {{\n  threads({threads})\n}}\n")
    assert isinstance(kernel, Kernel)
    assert H200.rates is not None
    found = _resident(kernel, H200, H200.rates, registers, 0)
    a_part = -(-threads // 128) * 32  # the threads of the fullest part
    assert found.registers <= registers
    assert found.registers * a_part * 4 <= H200.rates.registers
    assert found.blocks * found.registers * threads <= H200.rates.registers
    assert found.blocks * threads <= H200.rates.warps * 32
    assert found.blocks <= H200.rates.blocks
