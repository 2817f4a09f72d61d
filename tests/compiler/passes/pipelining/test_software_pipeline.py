"""Pipelined loops: what is written, that it means the same, and that nothing of it can be left out."""

from dataclasses import replace

import meaning
import numpy as np
import pytest
import random_ir
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.interpreter import run
from dslc.compiler.ir import Kernel, Place, Requirement
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Binary, index
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.verify import verify
from dslc.compiler.layout import parse_layout
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.memory.memory_plan import MemoryPlan
from dslc.compiler.passes.pipelining.software_pipeline import SoftwarePipeline
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.targets import find_target
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kernels import every, one
from support.tiers import drawn

TARGET = find_target("cuda:sm_90a")
PRODUCT = """
kernel product(a: f16[M, K], b: f16[K, N], c: out f32[M, N]):
    const BM = 16
    const BN = 32
    const BK = 32
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = acc
"""
SCALED = """
kernel scaled(a: f16[M, K], w: u4[K, N], s: f16[K // 64, N], c: out f32[M, N]):
    const BM = 16
    const BN = 32
    const BK = 16
    require K % 64 == 0
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            b = cast(w[k : k + BK, n : n + BN], f16) * s[k // 64, n : n + BN]
            acc += dot(a[m : m + BM, k : k + BK], b)
        c[m : m + BM, n : n + BN] = acc
"""
NESTED = """
kernel nested(a: f16[M, K], b: f16[K, N], c: out f32[M, N]):
    const B = 16
    for m in parallel(range(0, M, B)):
        for n in range(0, N, B):
            acc = zeros(f32, [B, B])
            for k in range(0, K, B):
                acc += dot(a[m : m + B, k : k + B], b[k : k + B, n : n + B])
            c[m : m + B, n : n + B] = acc
"""
SEQUENCE = """
kernel sequence(a: f16[M, K], b: f16[K, N], c: out f32[M, N]):
    const B = 16
    for m, n in parallel(range(0, M, B), range(0, N, B)):
        acc = zeros(f32, [B, B])
        for k in range(0, K, B):
            acc += dot(a[m : m + B, k : k + B], b[k : k + B, n : n + B])
        for k in range(0, K, 2 * B):
            acc += dot(a[m : m + B, k : k + 2 * B], b[k : k + 2 * B, n : n + B])
        c[m : m + B, n : n + B] = acc
"""
STREAM = """
kernel stream(x: f32[N], y: out f32[4]):
    acc = zeros(f32, [512])
    for i in range(0, N, 512):
        acc += x[i : i + 512]
    y[:] = sum(reshape(acc, [4, 128]), 1)
"""


def divisible(kernel: Kernel, by: int) -> Kernel:
    """The kernel with every dim required to be a multiple."""
    more = tuple(
        Requirement(
            Binary("eq", Binary("mod", d, index(by), INDEX), index(0), BOOL),
            f"{d.name} % {by} == 0",
        )
        for d in kernel.dims
    )
    return replace(kernel, requires=(*kernel.requires, *more))


def prepared(text: str, by: int = 8, layouts: bool = True) -> Kernel:
    program = Bounds()(Simplify()(divisible(one(text), by)))
    if layouts:
        program = AssignLayouts(TARGET)(program)
    return program


def pipelined(kernel: Kernel, stages: int | None = None, plan: bool = True) -> Kernel:
    after = Bounds()(Simplify()(SoftwarePipeline(TARGET, stages)(kernel)))
    after = MemoryPlan()(after) if plan else after
    verify(after)
    return after


def arguments(kernel: Kernel, dims: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Small integers, whose products and sums are exact in any order."""
    rng = np.random.default_rng(seed)
    found = {}
    for memory in kernel.tensors:
        shape = tuple(random_ir_extent(e, dims) for e in memory.shape)
        name = str(memory.dtype)
        dtype = {"f16": np.float16, "f32": np.float32}.get(name, np.uint8)
        values = rng.integers(0, 4, shape).astype(dtype)
        found[memory.name] = np.zeros(shape, dtype) if memory.role.value == "out" else values
    return found


def random_ir_extent(expr, dims: dict[str, int]) -> int:
    from dslc.compiler.ir import expr as ex
    from dslc.compiler.ir.arithmetic.affine import constant

    bindings = {v: index(dims[v.name]) for v in ex.free_vars(expr)}
    return int(constant(ex.substitute(expr, bindings)))


@pytest.mark.parametrize("stages", [2, 3, 4, 7, None])
@pytest.mark.parametrize("layouts", [False, True])
@pytest.mark.parametrize("k", [0, 8, 32, 40, 64, 104, 256])
def test_a_product_is_the_same_for_any_number_of_stages_and_iterations(stages, layouts, k):
    before = prepared(PRODUCT, layouts=layouts)
    after = pipelined(before, stages)
    assert len(every(after, ins.CopyAsync)) == 4
    meaning.assert_same_meaning(before, after, arguments(before, {"M": 24, "N": 40, "K": k}))


@given(random_ir.kernels(statements=10), st.sampled_from([None, 2, 3, 5]), st.integers(0, 9))
@settings(max_examples=drawn(60))
def test_pipelining_keeps_the_meaning(kernel, stages, seed):
    changed = SoftwarePipeline(TARGET, stages)(kernel)
    verify(changed)
    changed = MemoryPlan()(Bounds()(Simplify()(changed)))
    verify(changed)
    meaning.assert_same_meaning(kernel, changed, random_ir.inputs(kernel, seed))


class _Without(Rewriter):
    """Leaves out one statement."""

    def __init__(self, dropped: ins.Stmt) -> None:
        super().__init__()
        self.dropped = dropped

    def statement(self, stmt):
        return () if stmt is self.dropped else super().statement(stmt)


SYNCHRONISATION = (ins.WaitGroup, ins.CommitGroup, ins.Sync)


@pytest.mark.parametrize(
    ("text", "dims", "count", "stages"),
    [
        *((PRODUCT, {"M": 16, "N": 32, "K": 256}, 4, n) for n in (2, 3, 5)),
        *((SCALED, {"M": 16, "N": 32, "K": 256}, 4, n) for n in (2, 3, 5)),
        *((NESTED, {"M": 16, "N": 64, "K": 112}, 5, n) for n in (2, 3, 5)),
        *((STREAM, {"N": 4096}, 3, n) for n in (6, 8)),  # more than registers are taken for
    ],
)
def test_no_wait_commit_or_barrier_can_be_left_out(text, dims, count, stages):
    after = pipelined(LowBit()(prepared(text)), stages)
    args = arguments(after, dims)
    run(after, {n: a.copy() for n, a in args.items()})
    found = [s for kind in SYNCHRONISATION for s in every(after, kind)]
    assert len(found) == count
    for stmt in found:
        broken = _Without(stmt).kernel(after)
        with pytest.raises(DiagnosticError, match=r"DSL06(03|04|05|09)"):
            run(broken, {n: a.copy() for n, a in args.items()})


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_rings_of_two_loops_lie_in_one_place_behind_a_barrier(stages):
    """Slots of the first may still be read when the second begins to copy."""
    after = pipelined(prepared(SEQUENCE), stages)
    assert [s.memory.offset for s in every(after, ins.Alloc)].count(0) == 2
    first, second = (i for i, s in enumerate(after.body) if isinstance(s, ins.For) and s.carried)
    (barrier,) = (s for s in after.body[first:second] if isinstance(s, ins.Sync))
    before, args = prepared(SEQUENCE), arguments(after, {"M": 16, "N": 16, "K": 256})
    meaning.assert_same_meaning(before, after, args)
    with pytest.raises(DiagnosticError, match="DSL0609"):
        run(_Without(barrier).kernel(after), args)


def test_each_thread_waits_for_its_own_copies_alone():
    after = pipelined(prepared(STREAM), 6)
    (copy, _), (load,) = every(after, ins.CopyAsync), every(after, ins.Load)
    assert copy.layout == load.out.type.layout
    assert not every(after, ins.Sync)


def test_a_ring_is_swizzled_and_its_copies_move_16_bytes():
    after = pipelined(prepared(PRODUCT), 3)
    a, b = (s.memory for s in every(after, ins.Alloc))
    assert (a.place, [e.value for e in a.shape]) == (Place.SHARED, [3, 16, 32])
    swizzled = "local(3, 1, 1).swizzle(local(1, 16, 4), dim=2, log_step=1).local(1, 1, 8)"
    assert a.layout == parse_layout(swizzled)
    for copy in every(after, ins.CopyAsync):
        assert copy.layout.threads == after.threads
        assert copy.layout.local_modes[-1].size == 8
    assert b.layout is not None


def test_a_row_of_scales_is_copied_once_for_its_run():
    before = LowBit()(prepared(SCALED))
    after = pipelined(before, 3)
    # 64 // 16 iterations share a row; 2 under way touch at most 2 rows.
    rings = {s.memory.name: s.memory.shape[0].value for s in every(after, ins.Alloc)}
    assert rings == {"w_ring": 3, "a_ring": 3, "s_ring": 2}
    taken = []
    for n in (2, 3, 4, 6, 8):
        after = pipelined(before, n)
        args = arguments(before, {"M": 16, "N": 32, "K": 512})
        meaning.assert_same_meaning(before, after, args)
        taken.append({s.memory.name: s.memory.shape[0].value for s in every(after, ins.Alloc)})
    assert [t["s_ring"] for t in taken] == [2, 2, 2, 4, 4]


def loop_of(text: str, old: str, new: str, by: int = 8) -> Kernel:
    assert old in text
    return pipelined(prepared(text.replace(old, new), by), plan=False)


def test_stages_of_the_loop_are_obeyed():
    after = loop_of(PRODUCT, "range(0, K, BK)", "range(0, K, BK, stages=6)")
    assert {s.memory.shape[0].value for s in every(after, ins.Alloc)} == {6}
    assert [s.pending for s in every(after, ins.WaitGroup)] == [4]
    before = prepared(PRODUCT.replace("range(0, K, BK)", "range(0, K, BK, stages=1)"))
    assert SoftwarePipeline(TARGET)(before) is before
    assert SoftwarePipeline(TARGET, 4)(before) is before
    before = prepared(PRODUCT)
    assert SoftwarePipeline(TARGET, 1)(before) is before


def test_pipelining_again_changes_nothing():
    after = pipelined(prepared(PRODUCT))
    assert SoftwarePipeline(TARGET)(after) is after
    assert SoftwarePipeline(TARGET, 3)(after) is after


@pytest.mark.parametrize(
    ("old", "new", "by"),
    [
        ("K, BK):", "K, BK):", 1),  # rows that are not aligned
        ("a[m : m + BM, k : k + BK]", "load(a[m : m + BM, k : k + BK], other=1)", 8),
        ("a[m : m + BM, k : k + BK]", "a[m : m + BM, k + 1 : k + 1 + BK]", 8),
        ("a[m : m + BM, k : k + BK]", "a[m : m + BM, 2 * k : 2 * k + 2 * BK : 2]", 8),
    ],
)
def test_what_cannot_be_copied_is_loaded_a_turn_ahead(old, new, by):
    text = PRODUCT.replace(old, new)
    before = prepared(text, by)
    after = pipelined(before, 3)
    copied = {s.src.memory.name for s in every(after, ins.CopyAsync)}
    assert "a" not in copied
    (loop,) = [s for s in every(after, ins.For) if len(s.carried) > 1]
    loads = [s for s in every(after, ins.Load) if s.region.memory.name == "a"]
    assert len(loads) == 2
    assert not [s for s in loop.body if s in loads]  # only inside a branch
    for k in (0, 8, 40, 96):
        args = arguments(before, {"M": 24, "N": 40, "K": k})
        meaning.assert_same_meaning(before, after, args)


def test_a_row_that_cannot_be_copied_is_loaded_a_run_ahead():
    before = LowBit()(prepared(SCALED, by=1))
    after = pipelined(before, 3)
    assert "s" not in {s.src.memory.name for s in every(after, ins.CopyAsync)}
    for k in (0, 64, 192, 512):
        meaning.assert_same_meaning(before, after, arguments(before, {"M": 9, "N": 21, "K": k}))


def test_what_a_kernel_writes_is_not_read_early():
    text = """
kernel f(x: inout f32[N], y: out f32[N]):
    for i in range(0, N, 128):
        t = x[i : i + 128]
        x[i + 128 : i + 256] = t + 1
        y[i : i + 128] = t
"""
    before = prepared(text)
    assert SoftwarePipeline(TARGET, 3)(before) is before


def test_hand_written_copies_and_buffers_are_left_alone():
    text = """
kernel f(x: f32[N], y: out f32[N]):
    b = shared(f32, [128])
    for i in range(0, N, 128):
        b[:] = x[i : i + 128]
        y[i : i + 128] = b[:] + x[i : i + 128]
"""
    before = prepared(text)
    assert SoftwarePipeline(TARGET, 3)(before) is before


def test_a_loop_that_counts_down():
    text = """
kernel f(x: f32[N], y: out f32[128]):
    acc = zeros(f32, [128])
    for i in range(N - 128, -128, -128):
        acc = acc * 2 + x[i : i + 128]
    y[:] = acc
"""
    before = prepared(text)
    after = pipelined(before, 8)
    assert every(after, ins.CopyAsync)
    for n in (0, 128, 256, 1280):
        meaning.assert_same_meaning(before, after, arguments(before, {"N": n}))


def test_subscripts_that_are_read_from_a_table():
    text = """
kernel f(x: f32[N, 128], t: i32[M], y: out f32[128]):
    acc = zeros(f32, [128])
    for i in range(M):
        row = t[i]
        acc = acc * 2 + x[row, :]
    y[:] = acc
"""
    before = prepared(text, by=1)
    after = pipelined(before, 6)
    assert {s.src.memory.name for s in every(after, ins.CopyAsync)} >= {"x"}
    args = arguments(before, {"N": 4, "M": 7})
    args["t"] = np.array([3, 1, 0, 9, -1, 2, 3], np.int32)
    meaning.assert_same_meaning(before, after, args)


def test_the_number_of_stages_keeps_32_kilobytes_under_way():
    def ring(by_n: int, by_k: int) -> int:
        text = PRODUCT.replace("BN = 32", f"BN = {by_n}").replace("BK = 32", f"BK = {by_k}")
        found = every(pipelined(prepared(text), plan=False), ins.Alloc)
        return found[0].memory.shape[0].value if found else 1

    assert ring(32, 32) == 7  # 3 KiB a stage, two blocks
    # What a matrix unit reads itself: 96 KiB, and a slot is filled an iteration later.
    assert ring(128, 64) == 5  # 18 KiB, two blocks
    assert ring(128, 256) == 3  # 72 KiB, one block
    assert ring(256, 256) == 16  # 136 KiB: not even two fit, each operand has a buffer of 16 rows


def test_a_known_number_of_turns_needs_no_more_stages():
    text = PRODUCT.replace("for k in range(0, K, BK)", "for k in range(0, 64, BK)")
    after = pipelined(prepared(text), plan=False)
    assert {s.memory.shape[0].value for s in every(after, ins.Alloc)} == {2}
