"""Products of groups in pieces: what is divided, and that it means the same."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.gpu.groups import expected, grouped, operands
from support.kernels import every

HOPPER = find_target("cuda:sm_90a")


def lowered(kernel: Kernel, units: int = HOPPER.units) -> Kernel:
    found = run_passes(kernel, gpu_passes(replace(HOPPER, units=units), warps=8))
    assert isinstance(found, Kernel)
    return found


def products(kernel: Kernel) -> list[tuple[int, ...]]:
    return [d.out.type.shape for d in every(kernel, ins.Dot)]


@pytest.mark.parametrize("tile", [(128, 256, 64), (256, 128, 64)])
def test_sums_that_do_not_fit_beside_the_running_ones_come_in_pieces(
    tile: tuple[int, int, int],
) -> None:
    kernel = lowered(grouped(tile))
    one, other = every(kernel, ins.Dot)
    assert one.out.type == other.out.type
    assert 2 * prod(one.out.type.shape) == tile[0] * tile[1]
    # What the pieces do not share comes to rings and barriers of their own.
    rings = [s.memory for s in every(kernel, ins.Alloc) if "_ring" in s.memory.name]
    assert len(rings) == 4
    assert len(every(kernel, ins.InitBarriers)) == 4
    text = print_program(kernel)
    assert print_program(parse_program(text)) == text


@pytest.mark.parametrize("update", [None, "acc + part * s[k // G, n : n + BN]"])
def test_what_fits_stays_whole(update: str | None) -> None:
    assert products(lowered(grouped((128, 128, 64), update=update))) == [(128, 128)]


@pytest.mark.parametrize(
    "update",
    [
        "fma(part, s[k // G, n : n + BN], maximum(acc, part))",  # the product is read twice
        "fma(part - max(part, 1, keepdims=True), s[k // G, n : n + BN], acc)",  # by whole rows
        "part * s[k // G, n : n + BN]",  # no running sums
    ],
)
def test_what_is_no_sum_of_scaled_products_stays_whole(update: str) -> None:
    assert products(lowered(grouped((128, 256, 64), update=update))) == [(128, 256)]


@pytest.mark.parametrize(
    ("update", "units", "dims"),
    [
        (None, 3, (128, 512, 256)),
        (None, 7, (256, 256, 512)),  # turns that blocks share: parts of both pieces are added up
        (None, 2, (80, 256, 128)),  # ragged tiles
        (None, 2, (128, 256, 0)),
        ("acc + part * s[k // G, n : n + BN] * 2", 2, (128, 256, 192)),
    ],
)
def test_pieces_mean_what_the_whole_did(
    update: str | None, units: int, dims: tuple[int, int, int]
) -> None:
    kernel = lowered(grouped((128, 256, 64), update=update), units)
    assert len(products(kernel)) == 2
    assert every(kernel, ins.WarpSpecialize)
    for shuffle in (None, 1):
        given = operands(*dims, 64)
        run(kernel, given, Options(shuffle=shuffle))
        wanted = expected(given) * (2 if update else 1)
        np.testing.assert_array_equal(given["c"], wanted)
