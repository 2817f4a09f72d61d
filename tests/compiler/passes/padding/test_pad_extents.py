"""Tiles whose extents no number of threads divides are padded, and others stay as they are."""

from __future__ import annotations

import random

import pytest
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import regions, results, walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.padding.pad_extents import PadExtents
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import Target, find_target

from support.generated.awkward import Rows, drawn
from support.kernels import every, one

TARGET = find_target("cuda:sm_90a")
AMPERE, CDNA = find_target("cuda:sm_80"), find_target("hip:gfx942")


def padded(kernel: Kernel, target: Target = TARGET) -> Kernel:
    found = PadExtents(target)(kernel)
    assert isinstance(found, Kernel)
    verify(found)
    return found


def held(kernel: Kernel) -> int:
    """The most elements that a thread holds of a tile."""
    tiles = [v for s in walk(kernel.body) for v in results(s) if isinstance(v, Value)]
    return max(v.type.layout.locals for v in tiles if v.type.layout is not None)


def softmax(extent: int, block: int = 1) -> Kernel:
    return Rows("softmax", "f32", extent, block).kernel


def test_a_row_of_511_is_one_of_512_whose_end_does_not_count() -> None:
    kernel = padded(softmax(511))
    assert {v.type.shape[-1] for v in every_tile(kernel) if v.type.rank == 2} == {1, 512}
    for stmt in every(kernel, ins.Load) + every(kernel, ins.Store):
        assert [a.limit for r in regions(stmt) for a in r.axes] == [None, 511]
    masks = every(kernel, ins.Where)
    assert [m.x.type.shape for m in masks] == [(1, 512)] * 2, "one a reduction"
    text = print_program(kernel)
    assert ": +512 limit 511" in text
    assert print_program(parse_program(text)) == text


def every_tile(kernel: Kernel) -> list[Value]:
    return [v for s in walk(kernel.body) for v in results(s) if isinstance(v, Value)]


@pytest.mark.parametrize("extent", [1, 2, 8, 64, 512, 4096])
def test_powers_of_two_stay_as_they_are(extent: int) -> None:
    kernel = softmax(extent, block=4)
    assert padded(kernel) is kernel


@pytest.mark.parametrize("target", [AMPERE, TARGET, CDNA], ids=lambda t: t.name)
@pytest.mark.parametrize("extent", [77, 510, 511, 513, 4095, 4544, 50257])
def test_no_row_is_held_by_every_thread(extent: int, target: Target) -> None:
    found = run_passes(softmax(extent), gpu_passes(target))
    assert isinstance(found, Kernel)
    assert found.threads is not None
    assert held(found) <= max(8, 3 * -(-extent // found.threads))


def test_threads_share_rows_of_any_length() -> None:
    """Of what is drawn, whatever no reshape or concatenation keeps from being padded."""
    rng = random.Random(0)
    for rows in drawn(7, 60):
        if rows.body in ("joined", "flat", "middle"):
            continue
        target = rng.choice([AMPERE, TARGET, CDNA])
        found = AssignLayouts(target)(padded(rows.kernel, target))
        assert isinstance(found, Kernel)
        assert found.threads is not None
        share = -(-rows.extent * rows.block // found.threads)
        times = 8 if rows.dtype in ("i8", "u8") else 4  # bytes are worth wide accesses by fewer
        assert held(found) <= max(16, times * share), rows


HEADS = """
kernel k(q: f16[M, 72], k: f16[N, 72], s: out f32[M, N]):
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        s[m : m + 64, n : n + 64] = dot(q[m : m + 64, :], k[n : n + 64, :], transposed="b")
"""


def test_products_of_heads_of_72_take_the_instruction_of_80() -> None:
    kernel = padded(one(HEADS, {}))
    (dot,) = every(kernel, ins.Dot)
    assert dot.a.type.shape == (64, 80)
    assert not every(kernel, ins.Where), "loads give zeros"
    found = run_passes(one(HEADS, {}), gpu_passes(TARGET))
    assert isinstance(found, Kernel)
    assert all("k16" in str(d.atom) for d in every(found, ins.Dot))


SPLIT = """
kernel k(x: f32[M, 510], z: out f32[M, 255]):
    for m in parallel(range(M)):
        z[m, :] = sum(reshape(x[m, :], [255, 2]), 1)
"""


def test_an_axis_that_a_reshape_divides_keeps_its_extent() -> None:
    loads = every(padded(one(SPLIT, {})), ins.Load)
    assert [s.out.type.shape for s in loads] == [(510,)]
