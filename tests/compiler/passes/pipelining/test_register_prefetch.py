"""Loads straight to registers: which loops have them, how far ahead, and that it means the same."""

from __future__ import annotations

from dataclasses import replace

import meaning
import numpy as np
import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.pipelining.software_pipeline import SoftwarePipeline
from dslc.compiler.targets import find_target

from support.kernels import every, one

# A machine whose lanes read no rows for each other: there k is interleaved, for packed weights too.
TARGET = replace(find_target("cuda:sm_90a"), matrix_loads=False)
DECODE = """
kernel decode(a: f16[M, 1024], w: u4[1024, N], s: f16[8, N], c: out f16[M, N]):
    for m, n in parallel(range(0, M, {bm}), range(0, N, 64)):
        acc = zeros(f32, [{bm}, 64])
        for k in range(0, 1024, 128):
            b = cast(w[k : k + 128, n : n + 64], f16) * s[k // 128, n : n + 64]
            acc += dot(a[m : m + {bm}, k : k + 128], b)
        c[m : m + {bm}, n : n + 64] = cast(acc, f16)
"""


def scheduled(bm: int, stages: int | None) -> tuple[Kernel, Kernel]:
    before = LowBit(32, lanes=True)(AssignLayouts(TARGET)(one(DECODE.format(bm=bm), {"N": 128})))
    after = SoftwarePipeline(TARGET, stages)(before)
    assert isinstance(before, Kernel)
    assert isinstance(after, Kernel)
    verify(after)
    return before, after


@pytest.mark.parametrize(("stages", "ahead"), [(None, 2), (2, 1), (3, 2), (4, 3)])
def test_a_decode_product_needs_neither_ring_nor_barrier(stages: int | None, ahead: int) -> None:
    before, after = scheduled(16, stages)
    assert not every(after, ins.CopyAsync)
    assert not every(after, ins.Sync)
    (loop,) = [s for s in every(after, ins.For) if s.carried]
    assert loop.unroll == (ahead if ahead > 1 else None)
    assert len(loop.carried) == 1 + 3 * ahead
    rng = np.random.default_rng(0)
    (weights,) = [p for p in after.tensors if p.name == "w"]
    stored = [int(constant(n) or 0) for n in weights.shape]
    args = {
        "a": rng.integers(-3, 4, (21, 1024)).astype(np.float16),
        "w": rng.integers(0, 256, stored).astype(np.uint8),
        "s": rng.integers(1, 3, (8, 128)).astype(np.float16),
        "c": np.zeros((21, 128), np.float16),
    }
    meaning.assert_same_meaning(before, after, args)


def test_tiles_that_warps_share_keep_their_ring() -> None:
    _, after = scheduled(64, None)
    assert every(after, ins.CopyAsync)


def test_more_stages_than_registers_hold_are_a_ring() -> None:
    _, after = scheduled(16, 6)
    assert every(after, ins.CopyAsync)
