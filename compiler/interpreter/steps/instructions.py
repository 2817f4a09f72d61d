"""The table of instructions: what builds the step of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dslc.compiler.interpreter import semaphores
from dslc.compiler.interpreter.hazards.trap import trapped
from dslc.compiler.interpreter.recording import recorded
from dslc.compiler.interpreter.scope import Scope, Step
from dslc.compiler.interpreter.steps import accesses, arrivals, copies, debugging, products, tiles
from dslc.compiler.ir import instructions as ins

BUILDERS: dict[type, Callable[[Scope, Any], Step]] = {
    ins.Full: tiles.full,
    ins.Undefined: tiles.undefined,
    ins.Arange: tiles.arange,
    ins.Unary: tiles.unary,
    ins.Binary: tiles.binary,
    ins.Fma: tiles.fma,
    ins.Fused: tiles.fused,
    ins.Where: tiles.where,
    ins.Cast: tiles.cast_tile,
    ins.View: tiles.view_tile,
    ins.ConvertLayout: tiles.convert_layout,
    ins.Reduce: tiles.reduce,
    ins.Scan: tiles.scan,
    ins.Transpose: tiles.transpose,
    ins.Reshape: tiles.reshape,
    ins.Broadcast: tiles.broadcast,
    ins.Repeat: tiles.repeat,
    ins.Concat: tiles.concat,
    ins.Extract: tiles.extract,
    ins.Dot: products.dot,
    ins.Alloc: accesses.alloc,
    ins.Load: accesses.load,
    ins.Store: accesses.store,
    ins.AtomicRmw: accesses.atomic_rmw,
    ins.Gather: accesses.gather,
    ins.Scatter: accesses.scatter,
    ins.CopyAsync: copies.copy_async,
    ins.CommitGroup: copies.commit_group,
    ins.WaitGroup: copies.wait_group,
    ins.WaitDots: products.wait_dots,
    ins.AwaitPartner: copies.nothing,
    ins.HandOver: copies.nothing,
    ins.Sync: copies.sync,
    ins.MemoryBarrier: copies.memory_barrier,
    ins.InitBarriers: arrivals.init_barriers,
    ins.Arrive: arrivals.arrive,
    ins.AwaitPhase: arrivals.await_phase,
    ins.SemaphoreRelease: semaphores.release,
    ins.LaunchDependents: debugging.nothing,
    ins.AwaitLaunches: debugging.nothing,
    ins.Prefetch: debugging.nothing,
    ins.Let: debugging.let,
    ins.Print: debugging.print_values,
    ins.Assert: debugging.check,
}


def build(scope: Scope, instruction: ins.Instruction) -> Step:
    """The step of one instruction; SemaphoreWait alone is a flow (`semaphores.wait_flow`)."""
    step = BUILDERS[type(instruction)](scope, instruction)
    if scope.trap is not None:
        step = trapped(scope, instruction, step, scope.trap)
    return recorded(scope, instruction, step) if scope.records else step
