"""Layouts by cost: products first, then what surrounds them."""

from __future__ import annotations

import pytest
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.layout import Layout

from support.hip.products import product

FIXED = (("K", 8192), ("M", 8192), ("N", 8192))


@pytest.mark.parametrize(("chip", "side"), [("gfx950", 256), ("gfx942", 128)])
def test_a_turned_operand_is_read_as_its_product_wants_it(chip: str, side: int) -> None:
    """Where no unit reads shared memory, a tile gets its layout after its transpose has one.

    Four warps then stand as a square, with the fewest reads, and both operands have one order of k.
    """
    kernel = product(chip, (side, side, 64), FIXED)
    loads = [s for s in walk(kernel.body) if isinstance(s, ins.Load)]
    turned = {s.x for s in walk(kernel.body) if isinstance(s, ins.Transpose)}
    assert turned
    assert turned < {s.out for s in loads}
    layouts = {s.out.type.layout for s in loads}
    assert {x.replication for x in layouts if isinstance(x, Layout)} == {2}
    assert len({x.local_modes for x in layouts if isinstance(x, Layout)}) == 1
