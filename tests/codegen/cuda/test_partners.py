"""Sums in pieces by warpgroups that alternate, by the emitted text; faults in it are found."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir import Kernel
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.emulation import emitted, execute, lower
from support.groups import expected, grouped, operands

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


def lowered(units: int = 2) -> Kernel:
    found = lower(grouped((128, 256, 64)), units, warps=8)
    assert isinstance(found, Kernel)
    return found


@pytest.mark.parametrize("dims", [(80, 512, 192), (128, 256, 320)])
def test_warpgroups_that_alternate_give_the_same_sums(dims: tuple[int, int, int]) -> None:
    kernel = lowered()
    assert emitted(kernel)[0].count("await_partner(group)") == 2
    for seed in range(2):
        given: dict[str, Array] = operands(*dims, 64)
        execute(kernel, given, seed)
        np.testing.assert_array_equal(given["c"], expected(given))


def test_pieces_are_put_together_in_registers() -> None:
    """Nothing but a number that one thread tells the others goes through scratch memory."""
    text, _ = emitted(lowered())
    assert text.count("scratch)[0]") == text.count("scratch)[") == 2


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("    if (group == 1) hand_over(group);\n", ""),  # neither begins
        ("        hand_over(group);\n", ""),  # the other one waits for ever
        ("        await_partner(group);\n", ""),  # more arrivals than a barrier counts
    ],
)
def test_an_exchange_that_does_not_match_is_found(line: str, other: str) -> None:
    def edit(text: str) -> str:
        assert line in text
        return text.replace(line, other, 1)

    with pytest.raises(EmulationError):
        execute(lowered(), operands(128, 512, 192, 64), edit=edit)
