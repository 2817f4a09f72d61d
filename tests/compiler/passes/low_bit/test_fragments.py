"""Fragments of packed weights: the same for tiles of any size, warps of any number, and both units."""

from __future__ import annotations

import meaning
import numpy as np
import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.layout import parse_layout
from dslc.compiler.low_bit_format import PackedStorage
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.low_bit.fragments import fragment_depth, fragments
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.targets import Target, find_target

from support.kernels import one

Tile = tuple[int, int, int, int]
HOPPER, AMPERE = find_target("cuda:sm_90a"), find_target("cuda:sm_80")
PRODUCT = """
kernel product(a: f16[M, 256], w: {dtype}[256, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, {bm}), range(0, N, {bn})):
        acc = zeros(f32, [{bm}, {bn}])
        for k in range(0, 256, {bk}):
            acc += dot(a[m : m + {bm}, k : k + {bk}], cast(w[k : k + {bk}, n : n + {bn}], f16))
        c[m : m + {bm}, n : n + {bn}] = acc
"""
# Tiles of decoding and of prefill: k over the warps of a block, warps side by side, warpgroups.
TILES = [(8, 64, 256, 8), (16, 32, 128, 2), (16, 128, 64, 4), (64, 128, 128, 8), (128, 64, 64, 4)]


def packed(dtype: str, tile: Tile, target: Target = HOPPER) -> tuple[Kernel, Kernel]:
    bm, bn, bk, warps = tile
    kernel = one(PRODUCT.format(dtype=dtype, bm=bm, bn=bn, bk=bk), {"N": 128})
    before = AssignLayouts(target, warps)(kernel)
    after = Bounds()(LowBit(32, lanes=True, f8=True)(before))
    assert isinstance(before, Kernel)
    assert isinstance(after, Kernel)
    return before, after


def storage(dtype: str, tile: Tile, target: Target = HOPPER) -> PackedStorage:
    (one_,) = packed(dtype, tile, target)[1].packed
    return one_.storage


@pytest.mark.parametrize("dtype", ["u1", "u2", "u3", "u4", "i6", "u8", "f6e3m2"])
def test_one_storage_serves_every_tile(dtype: str) -> None:
    deep = [t for t in TILES if t[2] >= fragment_depth(int(dtype[1]))]
    found = [storage(dtype, tile) for tile in deep]
    assert found[0].tile == (fragment_depth(int(dtype[1])), 16)
    assert all(s == found[0] for s in found)
    assert storage(dtype, (64, 128, 128, 8), AMPERE) == found[0]


@pytest.mark.parametrize("tile", TILES)
def test_the_meaning_stays(tile: Tile) -> None:
    before, after = packed("u4", tile)
    (weights,) = [p for p in after.tensors if p.name == "w"]
    rng = np.random.default_rng(0)
    args = {
        "a": rng.integers(-3, 4, (21, 256)).astype(np.float16),
        "w": rng.integers(0, 256, [int(constant(n) or 0) for n in weights.shape]).astype(np.uint8),
        "c": np.zeros((21, 128), np.float32),
    }
    stored = LowBit(32, lanes=True, f8=True)(before)
    meaning.assert_same_meaning(stored, after, args)


def test_fragments_cover_the_layout() -> None:
    layout = parse_layout("spatial(4, 2).local(8, 2).local(2, 2).column_spatial(4, 8).local(2, 1)")
    found = fragments(layout, 32, 4)
    assert found is not None
    assert found.layout.shape == (64, 16)
    tiled = found.tiled(found.layout)
    assert tiled.shape == layout.shape
    for mine, theirs in zip(tiled.table(), layout.table(), strict=True):
        assert {tuple(x) for x in mine} == {tuple(x) for x in theirs}


@pytest.mark.parametrize(
    "layout",
    [
        "replicate(32, rank=2).local(64, 16)",  # lanes hold copies
        "replicate(4, rank=2).spatial(8, 1).local(8, 16)",  # some of them do
        # A warp's lanes lie between those of another.
        "modes([64, 16], spatial=[[2, 1, 1], [8, 1, 2], [4, 0, 1]], local=[[16, 0, 4]])",
    ],
)
def test_what_has_no_fragments(layout: str) -> None:
    assert fragments(parse_layout(layout), 32, 4) is None
