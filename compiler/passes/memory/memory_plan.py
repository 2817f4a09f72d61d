"""Memory planning: byte offsets for on-chip buffers, shared by those that never live at one time.

Before (tests/ir/memory-plan/example.tir):

    alloc @a: buffer shared f32[64]
    alloc @b: buffer shared f32[64]
    %x = load @x[0 : +64!] : f32[64]
    store @a[0 : +64!], %x
    %u = load @a[0 : +64!] : f32[64]
    store @b[0 : +64!], %u

After:

    %x = load @x[0 : +64!] : f32[64]
    alloc @a: buffer shared f32[64] offset 0
    store @a[0 : +64!], %x
    %u = load @a[0 : +64!] : f32[64]
    alloc @b: buffer shared f32[64] offset 0
    store @b[0 : +64!], %u

Allocs first sink to where their buffer is first touched. Large buffers are placed first, each into the
smallest gap that takes it between the buffers it may not share bytes with. Buffers of no place yet
count as shared; those in registers have no bytes. Two buffers whose lives touch through a barrier alone
are told apart in kernels that write barriers by hand; elsewhere a generator must put one between the
last access of the one and the first of the other, where they have bytes in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dslc.compiler.analysis.buffer_liveness import Live, Liveness, sink_allocs
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Substitution, kernels, map_kernels
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.values import Memory, Place
from dslc.compiler.passes.pipelining import swizzled_shared

ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Plans the shared memory of every kernel; `capacity` is what a turn has, in bytes."""

    capacity: int | None = None
    alignment: int = ALIGNMENT
    name: str = "memory-plan"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with offsets. DSL0501 over the capacity, DSL0502 for an unknown size."""
        return map_kernels(program, self._plan_kernel)

    def _plan_kernel(self, kernel: Kernel) -> Kernel:
        kernel = sink_allocs(kernel)
        plan = plan_kernel(kernel, self.alignment)
        total = max((p.end for p in plan), default=0)
        if self.capacity is not None and total > self.capacity:
            message = f"kernel {kernel.name} needs {total} bytes of shared memory at one time"
            hint = f"the machine has {self.capacity}: smaller tiles or fewer stages need less"
            raise error("DSL0501", f"{message}\n{_table(plan)}", kernel.loc, hint=hint)
        placed = {
            p.memory: replace(p.memory, offset=p.offset)
            for p in plan
            if p.memory.offset != p.offset
        }
        return Substitution(memories=placed).kernel(kernel) if placed else kernel


@dataclass(frozen=True, slots=True)
class Planned:
    """A buffer's bytes [offset, offset + size) and its life."""

    live: Live
    offset: int
    size: int

    @property
    def memory(self) -> Memory:
        """The buffer."""
        return self.live.memory

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.offset + self.size


def plan_kernel(kernel: Kernel, alignment: int = ALIGNMENT) -> tuple[Planned, ...]:
    """Where the buffers of a kernel go, in the order of their allocs."""
    liveness = Liveness(kernel.body)
    lives = [live for live in liveness.lives if live.memory.place in (None, Place.SHARED)]
    sizes = {live: buffer_bytes(live.memory) for live in lives}
    wide = _read_by_units(kernel)
    planned: dict[Live, Planned] = {}
    for live in sorted(lives, key=lambda live: (-sizes[live], live.start)):
        apart = [p for p in planned.values() if not liveness.may_share(live, p.live)]
        own = max(alignment, swizzled_shared.ALIGNMENT) if live.memory in wide else alignment
        offset = _best_gap(apart, sizes[live], own)
        planned[live] = Planned(live, offset, sizes[live])
    return tuple(planned[live] for live in lives)


def _read_by_units(kernel: Kernel) -> set[Memory]:
    """The memories that matrix and copy units read: their swizzles count from multiples."""
    if kernel.threads is None:
        return set()
    loads = (s for s in walk(kernel.body) if isinstance(s, ins.Load))
    copies = (s for s in walk(kernel.body) if isinstance(s, ins.CopyAsync))
    sent = {s.src.memory for s in copies if s.src.memory.place is Place.SHARED}
    return sent | {s.region.memory for s in loads if s.out.type.layout is None}


def buffer_bytes(memory: Memory) -> int:
    """The bytes of an on-chip buffer; elements of fewer than 8 bits are packed. DSL0502."""
    shape = [constant(extent) for extent in memory.shape]
    if any(n is None for n in shape):
        message = f"the size of buffer {memory.name} is not known at compile time"
        raise error("DSL0502", message, memory.loc, hint="fix its dims, such as with -D K=4096")
    elements = math.prod(int(n) for n in shape if n is not None)
    return (elements * memory.dtype.bits + 7) // 8


def describe_plan(program: TileProgram) -> str:
    """A table a kernel: each planned buffer with its bytes, its offset and its life."""
    parts = []
    for kernel in kernels(program):
        plan = [
            Planned(live, live.memory.offset, buffer_bytes(live.memory))
            for live in Liveness(kernel.body).lives
            if live.memory.offset is not None
        ]
        if not plan:
            parts.append(f"kernel {kernel.name}: no buffers\n")
            continue
        total = max(p.end for p in plan)
        apart = sum(p.size for p in plan)
        parts.append(
            f"kernel {kernel.name}: {total} bytes, {apart} without sharing\n{_table(plan)}"
        )
    return "\n".join(parts)


def _table(plan: Iterable[Planned]) -> str:
    rows = [("buffer", "type", "bytes", "offset", "statements")]
    for p in plan:
        m = p.memory
        shape = ", ".join(str(constant(n)) for n in m.shape)
        life = f"{p.live.start}..{p.live.end}"
        rows.append((m.name, f"{m.dtype}[{shape}]", str(p.size), str(p.offset), life))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return "".join(
        "  ".join(
            cell.rjust(w) if i in (2, 3) else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + "\n"
        for row in rows
    )


def _best_gap(apart: Iterable[Planned], size: int, alignment: int) -> int:
    """The aligned start of the smallest gap that takes `size` bytes; the end if there is none."""
    best: tuple[int, int] | None = None
    free = 0
    for p in sorted(apart, key=lambda p: p.offset):
        gap = p.offset - free
        if gap >= size and (best is None or gap < best[0]):
            best = gap, free
        free = max(free, -(-p.end // alignment) * alignment)
    return free if best is None else best[1]
