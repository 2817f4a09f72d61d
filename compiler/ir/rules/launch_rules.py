"""What launches that overlap may do before they have waited for those before them."""

from __future__ import annotations

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.rules.tile_rules import Fail
from dslc.compiler.ir.traverse import memories, walk
from dslc.compiler.ir.values import Role


def touches_tensors(stmt: Stmt) -> bool:
    """Whether the statement, or one within it, touches what other launches may; prefetches do not."""
    return any(
        memory.role is not Role.BUFFER
        for s in walk((stmt,))
        if not isinstance(s, ins.Prefetch)
        for memory in memories(s)
    )


def broken_launches(kernel: Kernel) -> tuple[Stmt, Fail] | None:
    """The statement that breaks a rule of overlapping launches, and how; None where none does."""
    waits = [s for s in walk(kernel.body) if isinstance(s, ins.AwaitLaunches)]
    begins = [s for s in walk(kernel.body) if isinstance(s, ins.LaunchDependents)]
    for wait in waits:
        if len(waits) > 1 or wait not in kernel.body:
            return wait, ("DSL0416", "launches are awaited once, right in a kernel's body")
    if begins and not waits:
        text = "what launches early must wait: a later launch would not know of earlier ones"
        return begins[0], ("DSL0416", text)
    for stmt in kernel.body[: kernel.body.index(waits[0])] if waits else ():
        if touches_tensors(stmt):
            return stmt, ("DSL0416", "a tensor is touched before the launches before are awaited")
    return None
