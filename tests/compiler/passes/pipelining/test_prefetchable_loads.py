"""Which loads may run ahead of a loop, and which must not."""

from __future__ import annotations

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.pipelining.prefetchable_loads import constant_memories
from dslc.compiler.passes.pipelining.software_pipeline import SoftwarePipeline
from dslc.compiler.targets import find_target

from support.kernels import every, one

TARGET = find_target("cuda:sm_90a")
CARRIED = """
kernel f(x: f32[N, 128], y: out f32[128]):
    acc = zeros(f32, [128])
    row = 1
    for i in range(9):
        acc = acc * 2 + x[row + i, :]
        row = (row * 3 + 1) % 5
    y[:] = acc
"""
AWAITED = """
kernel f(x: f32[N], ready: inout i32[M], y: out f32[128]):
    acc = zeros(f32, [128])
    for i in range(0, N, 128):
        semaphore_wait(ready[i // 128], 1)
        acc += x[i : i + 128] * cast(ready[i // 128], f32)
    y[:] = acc
"""


def test_subscripts_that_the_loop_carries_are_not_known_ahead() -> None:
    before = AssignLayouts(TARGET)(one(CARRIED))
    after = SoftwarePipeline(TARGET, 6)(before)
    verify(after)
    assert after is before


def test_what_other_blocks_may_still_write_is_not_read_early() -> None:
    before = AssignLayouts(TARGET)(one(AWAITED))
    assert {m.name for m in constant_memories(before.body, before.tensors)} == {"x"}
    after = SoftwarePipeline(TARGET, 6)(before)
    verify(after)
    bodies = [s.body for s in every(after, ins.For)]
    (body,) = (b for b in bodies if any(isinstance(s, ins.SemaphoreWait) for s in b))
    loads = [s for s in body if isinstance(s, ins.Load)]
    assert "ready" in {s.region.memory.name for s in loads}  # where it was, behind its wait
