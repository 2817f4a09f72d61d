"""Copies that land in the order of lanes: their layouts, and what they require of strides."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.hip.copies import lands_in_order
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.layout import addresses, local, spatial, swizzle
from dslc.compiler.passes.pipelining.copy_reach import CopyReach
from dslc.compiler.passes.pipelining.linear_copies import linear_layout

SWIZZLED = swizzle(local(64, 8), dim=1) * local(1, 8)
COPY = """kernel k[M, K](@a: in f16[M, K], @c: out f16[M, K]) {
  threads(256)
  grid m in range(0, M, 64)
  alloc @ring: buffer shared f16[64, 64]
  copy_async @ring[0 : +64!, 0 : +64!], @a[m : +64, 0 : +64]
  commit_group
  wait_group pending=0
  sync
  %x = load @ring[0 : +64!, 0 : +64!] : f16[64, 64] `local(8, 1).spatial(8, 32).local(1, 2)`
  store @c[m : +64, 0 : +64], %x
}
"""


@pytest.mark.parametrize("memory", [None, SWIZZLED], ids=["rows", "swizzled"])
@pytest.mark.parametrize("width", [2, 8])
@pytest.mark.parametrize("threads", [64, 256, 512])
def test_a_warp_writes_its_bytes_one_after_another(memory, width: int, threads: int) -> None:
    lying = memory if memory is not None else local(64, 64)
    made = linear_layout((64, 64), memory, width, threads, 64)
    assert made is not None
    at = addresses(made, lying).reshape(threads // 64, 64, -1, width)
    lanes = np.arange(64)[:, None, None] * width + np.arange(width)
    assert (at - at[:, :1, :, :1] == lanes).all()
    assert sorted(addresses(made, lying).reshape(-1)) == list(range(64 * 64))
    assert lands_in_order(made, lying, width, 64)


def test_what_a_swizzle_scatters_does_not_land_in_order() -> None:
    rows = local(2, 1).spatial(32, 8).local(1, 8)
    assert not lands_in_order(rows, SWIZZLED, 8, 64)
    assert not lands_in_order(spatial(64, 4).local(1, 16), local(64, 64), 8, 64)


def test_a_tile_of_fewer_chunks_than_threads_is_copied_by_the_first() -> None:
    made = linear_layout((8, 64), None, 8, 256, 64)
    assert made is not None
    assert made.replication == 4
    assert lands_in_order(made, local(8, 64), 8, 64)


@pytest.mark.parametrize(("tile", "width"), [((3, 40), 8), ((64, 62), 8)])
def test_what_does_not_divide_has_none(tile: tuple[int, int], width: int) -> None:
    assert linear_layout(tile, None, width, 256, 64) is None


def test_rows_of_a_run_time_length_are_limited() -> None:
    made = CopyReach()(parse_program(COPY))
    assert isinstance(made, Kernel)
    (limit,) = made.requires
    most = int(limit.text.split()[-3])
    # The last byte of the last row's end is below 2^31.
    assert 63 * most * 2 + 63 * 2 < 1 << 31 <= 2 * 64 * (most + 1) * 2 * 2
    again = CopyReach()(made)
    assert again is made or again == made


def test_known_rows_need_no_requirement() -> None:
    made = CopyReach()(
        parse_program(COPY.replace("[M, K]", "[M, 4096]").replace("k[M, 4096]", "k[M]"))
    )
    assert isinstance(made, Kernel)
    assert not made.requires
