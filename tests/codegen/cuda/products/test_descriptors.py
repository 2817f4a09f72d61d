"""Matrix descriptors: the panels of the passes are what the unit reads, and other layouts are not."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from dslc.codegen.c_family.products.instruction_operands import Mismatch
from dslc.codegen.cuda.descriptors import operand, placed, separated
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.layout import Layout, local
from dslc.compiler.layout.swizzles import Swizzle
from dslc.compiler.passes.pipelining.swizzled_shared import panels

from support.kernels import every

SHAPES = [(8, 32), (16, 64), (64, 64), (128, 256), (64, 96), (64, 16)]


def origins(shape: tuple[int, int], along: bool, tile: tuple[int, int]) -> np.ndarray:
    i, k = shape if along else shape[::-1]
    return np.array([(x, z) for x in range(0, i, tile[0]) for z in range(0, k, tile[1])])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("along", [True, False])
def test_the_unit_reads_every_part_of_panels(shape: tuple[int, int], along: bool) -> None:
    memory = panels(shape, 16)
    assert memory is not None
    depth = shape[1] if along else shape[0]
    if depth % 16:
        pytest.skip("no whole steps of k")
    tile = (8, 16) if along else (gcd(shape[1], 64), 16)
    found = operand(memory, 16, along, tile, origins(shape, along, tile))
    assert found.format.swizzle == next(w for w in (128, 64, 32) if shape[1] * 2 % w == 0)
    assert depth == 16 or shape[0] == 8 or found.format.stride == 8 * found.format.swizzle
    assert len(set(found.starts.tolist())) == len(found.starts)


@pytest.mark.parametrize(("bits", "wide"), [(8, 128), (8, 32), (32, 32), (32, 16)])
def test_other_widths_have_k_along_the_rows(bits: int, wide: int) -> None:
    shape, tile = (64, wide), (64, 256 // bits)
    memory = panels(shape, bits)
    assert memory is not None
    found = operand(memory, bits, True, tile, origins(shape, True, tile))
    assert found.starts.tolist() == list(range(0, wide * bits // 8, 32))


@pytest.mark.parametrize(
    "memory",
    [
        local(64, 64),  # not swizzled
        Layout((64, 64), (), local(64, 64).local_modes, (Swizzle(1, 8, 8, 0, 2, 8),)),
        Layout((64, 64), (), local(64, 64).local_modes, (Swizzle(1, 8, 4, 0, 1, 4),)),
        Layout((64, 128), (), local(64, 128).local_modes, (Swizzle(1, 8, 8, 0, 1, 8),)),
    ],
)
@pytest.mark.parametrize("along", [True, False])
def test_another_layout_is_refused(memory: Layout, along: bool) -> None:
    with pytest.raises(Mismatch, match="none from which the unit can read"):
        operand(memory, 16, along, (64, 16), np.array([[0, 0]]))


def test_groups_that_read_alike_differ_by_a_start() -> None:
    own, more = separated(np.array([0, 32, 64, 8192, 8224, 8256]), 2, (3,))
    assert own.tolist() == [0, 8192]
    assert more.tolist() == [0, 32, 64]
    with pytest.raises(Mismatch):
        separated(np.array([0, 32, 64, 8192, 8224, 8300]), 2, (3,))


def test_every_tile_must_be_read_right_not_only_the_first() -> None:
    """The second one begins where a row of the swizzle is not at its start."""
    memory = panels((64, 128), 16)
    assert memory is not None
    assert operand(memory, 16, True, (64, 16), np.array([[0, 0]]))
    with pytest.raises(Mismatch):
        operand(memory, 16, True, (64, 16), np.array([[0, 0], [0, 56]]))


@pytest.mark.parametrize(
    ("rows", "columns", "is_tile"),
    [("0 : +64", "0 : +64", True), ("0 : +32", "0 : +64", False), ("0 : +64", "0 : +32", False),
     ("0 : +64", "16 : +48", False), ("32 : +32", "0 : +64", False)],
)  # fmt: skip
def test_a_part_of_a_tile_is_no_tile_of_a_ring(rows: str, columns: str, is_tile: bool) -> None:
    layout = "local(3, 1, 1).swizzle(local(1, 64, 8), dim=2).local(1, 1, 8)"
    kernel = parse_program(
        f"kernel f[](@y: out f16[64, 64]) {{\n  alloc @ring: buffer shared f16[3, 64, 64] `{layout}`\n"
        f"  %x = load @ring[1!, {rows}, {columns}] : f16[{rows[-2:]}, {columns[-2:]}]\n}}\n"
    )
    assert isinstance(kernel, Kernel)
    (load,) = every(kernel, ins.Load)
    if not is_tile:
        with pytest.raises(Mismatch, match="a part of what lies"):
            placed(load.region)
        return
    found, slots = placed(load.region)
    assert found.shape == (64, 64)
    assert [weight for _, weight in slots] == [64 * 64 * 2]
