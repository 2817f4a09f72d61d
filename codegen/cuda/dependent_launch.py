"""Programmatic dependent launch (PDL): what lets the next launch begin, the wait, and prefetches."""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.memory.accesses import pointer
from dslc.codegen.cuda.tma import first_element, row_step
from dslc.compiler.artifact import Json
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.pipelining.tma_copies import rows_of


def is_dependent(kernel: Kernel) -> bool:
    """Whether a launch may begin before the one before it has ended."""
    return any(isinstance(s, ins.AwaitLaunches) for s in kernel.body)


def launch_words(kernel: Kernel) -> dict[str, Json]:
    """What a launch says of it.

    Blocks that copy ahead are dealt evenly to the multiprocessors (`spread`): those that begin while
    others still hold their places would come to lie side by side where there is room for two.
    """
    if not is_dependent(kernel):
        return {}
    copies = any(isinstance(s, ins.CopyAsync) for s in walk(kernel.body))
    return {"dependent": True, **({"spread": True} if copies else {})}


def launch_dependents(e: Emission, s: ins.LaunchDependents) -> None:
    """Once every block has come here or ended, blocks of the next launch begin where there is room."""
    e.out.line("launch_dependents();")


def await_launches(e: Emission, s: ins.AwaitLaunches) -> None:
    """Every thread waits for itself.

    The compiler is told that each tensor may have changed. Else those that the kernel only reads were
    constant to it, and it would load them before the wait (`ld.global.nc`).
    """
    e.out.line("await_launches();")
    for memory in (*e.kernel.tensors, *e.kernel.workspaces):
        e.out.line(f"may_have_changed({pointer(e, memory)});")


def prefetch(e: Emission, s: ins.Prefetch) -> None:
    """A thread asks for each of the runs of bytes."""
    run, rows = rows_of(s.region)
    size = run * s.region.memory.dtype.bits // 8
    base = first_element(e, s.region)
    # Blocks that come after those which began early find memory busy.
    early = f"blockIdx.x < {e.target.units}"
    if rows == 1:
        e.out.line(f"if ({early} && {e.leader}) prefetch_run({base}, {size});")
        return
    i, step = e.out.name("i"), row_step(e, s.region)
    with (
        e.out.block(f"if ({early})"),
        e.out.block(f"for (int {i} = tid; {i} < {rows}; {i} += {e.threads})"),
    ):
        e.out.line(f"prefetch_run({base} + (long long){i} * {step}, {size});")


EMITTERS: dict[type, Emitter] = {
    ins.LaunchDependents: launch_dependents,
    ins.AwaitLaunches: await_launches,
    ins.Prefetch: prefetch,
}
