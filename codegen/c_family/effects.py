"""Buffers, barriers and semaphores."""

from __future__ import annotations

from dslc.codegen.c_family.ctypes_of import memory_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.memory.accesses import access, pointer
from dslc.codegen.c_family.scalars import unsupported
from dslc.compiler.ir import Region
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.layout import Layout
from dslc.compiler.layout.mode import replicated


def alloc(e: Emission, s: ins.Alloc) -> None:
    """Memory begins to live: its place was planned before."""
    if s.memory not in e.memories:
        raise unsupported(f"the buffer {s.memory.name}, which no pass has placed")


def sync(e: Emission, s: ins.Sync) -> None:
    """A barrier of the block, or of a cluster's."""
    e.barrier(_meeting(e, s) if s.cluster else e.together)


def _meeting(e: Emission, s: ins.Sync) -> str:
    """A barrier of a cluster, with a fence where others read what was written before, or were told."""
    every = list(walk(e.kernel.body))
    if s is e.kernel.body[-1]:
        fenced = any(isinstance(x, ins.Arrive) and x.everywhere for x in every)
    else:
        fenced = any(isinstance(x, ins.Load) and x.rank is not None for x in every)
    return "cluster_sync();" if fenced else "cluster_meet();"


def semaphore_wait(e: Emission, s: ins.SemaphoreWait) -> None:
    """One thread spins, then the block goes on."""
    at = _one(e, s.region)
    ctype = memory_type(s.region.memory.dtype)
    with e.out.block("if (tid == 0)"):
        e.out.line(f"await_value({at}, ({ctype})({e.scalar(s.value)}));")
        e.out.line("__threadfence();")
    e.barrier()


def semaphore_release(e: Emission, s: ins.SemaphoreRelease) -> None:
    """All writes of the block are published before the value."""
    ctype = memory_type(s.region.memory.dtype)
    e.out.line("__threadfence();")
    e.barrier()
    value = f"({ctype})({e.scalar(s.value)})"
    e.out.line(f"if (tid == 0) set_value({_one(e, s.region)}, {value});")


def _one(e: Emission, region: Region) -> str:
    every = Layout((1,) * len(region.shape), (replicated(e.threads),), ())
    element = access(e, region, every, 1)
    return f"{pointer(e, region.memory)} + {element.address()}"


EMITTERS: dict[type, Emitter] = {
    ins.Alloc: alloc,
    ins.Sync: sync,
    ins.SemaphoreWait: semaphore_wait,
    ins.SemaphoreRelease: semaphore_release,
}
