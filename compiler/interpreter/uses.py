"""What a kernel does with its memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dslc.compiler.ir import Memory
from dslc.compiler.ir import instructions as ins


@dataclass(frozen=True, slots=True)
class Uses:
    """What a kernel does with its memories."""

    read: frozenset[Memory] = frozenset()
    written: frozenset[Memory] = frozenset()
    copied: frozenset[Memory] = frozenset()  # by asynchronous copies, from or to
    counted: frozenset[Memory] = frozenset()  # by atomic additions and semaphores
    semaphores: frozenset[Memory] = frozenset()
    paced: frozenset[Memory] = frozenset()  # filled in bulk, and freed by arrivals of all warps
    explicit: bool = False  # it has copies or barriers of its own

    @property
    def ordered(self) -> bool:
        """Whether one turn may come to know what another has done."""
        return bool(self.counted)


def uses_of(body: Sequence[ins.Stmt]) -> Uses:
    """The uses in a flat list of statements."""
    read: set[Memory] = set()
    written: set[Memory] = set()
    copied: set[Memory] = set()
    counted: set[Memory] = set()
    semaphores: set[Memory] = set()
    filled: set[Memory] = set()
    together = explicit = False
    for s in body:
        match s:
            case ins.Load(region=region) | ins.Gather(region=region):
                read.add(region.memory)
            case ins.Store(region=region) | ins.Scatter(region=region):
                written.add(region.memory)
            case ins.AtomicRmw(region=region):
                read.add(region.memory)
                written.add(region.memory)
                counted.add(region.memory)
            case ins.SemaphoreWait(region=region) | ins.SemaphoreRelease(region=region):
                written.add(region.memory)
                counted.add(region.memory)
                semaphores.add(region.memory)
            case ins.CopyAsync(dst=dst, src=src):
                read.add(src.memory)
                written.add(dst.memory)
                copied |= {dst.memory, src.memory}
                filled |= set() if s.barrier is None else {dst.memory}
                explicit = True
            case ins.Arrive():
                together |= s.together
            case ins.Sync() | ins.AwaitPhase():
                explicit = True
            case _:
                pass
    return Uses(
        frozenset(read),
        frozenset(written),
        frozenset(copied),
        frozenset(counted),
        frozenset(semaphores),
        frozenset(filled) if together else frozenset(),
        explicit,
    )
