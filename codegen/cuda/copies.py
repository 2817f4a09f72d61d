"""Asynchronous copies: cp.async by all threads of the block, in groups."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import loops
from dslc.codegen.c_family.memory.accesses import Access, access, first_copy, pointer
from dslc.codegen.c_family.memory.copying import by_elements, widest
from dslc.codegen.c_family.memory.widths import refuse_row
from dslc.codegen.cuda import tma
from dslc.codegen.cuda.tma import is_bulk
from dslc.compiler.ir import Kernel, Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, walk
from dslc.compiler.layout import Layout

_SIZES = (16, 8, 4)  # bytes of a thread's cp.async


def copy_async(e: Emission, s: ins.CopyAsync) -> None:
    """Every thread copies its runs; what is out of bounds is filled with zeros."""
    if tma.is_bulk(s):
        tma.copy(e, s)
        return
    refuse_row(s.src.memory)
    runs = widest(e, s, _SIZES)
    if runs is None:
        by_elements(e, s)
        return
    size, width, layout = runs
    _copy(e, s, layout, width, size)


def _copy(e: Emission, s: ins.CopyAsync, layout: Layout, width: int, size: int) -> None:
    to = access(e, s.dst, layout, width)
    source = Access(e, s.src, layout, width, to.runs)
    once = first_copy(layout)
    with e.out.block(f"if ({once})" if once else ""):
        target, origin = _place(e, to), _place(e, source)
        with loops(e.out, to.runs):
            # Where it is not inside nothing is read, whatever the address.
            e.out.line(f"copy_async_{size}({target}, {origin}, {source.inside() or 'true'});")


def _place(e: Emission, x: Access) -> str:
    """The address of a chunk: that of the thread's first, and a constant distance, where it is one.

    Instructions then hold the distance themselves.
    """
    distance = x.distance()
    if distance is None or distance == "0":
        return f"{pointer(e, x.memory)} + {x.address()}"
    first = e.out.name("first")
    start = replace(x, runs=replace(x.runs, digits=())).address()
    e.out.line(f"const auto {first} = {pointer(e, x.memory)} + {start};")
    return f"{first} + {distance}"


def commit(e: Emission, s: ins.CommitGroup) -> None:
    """Close the group."""
    kinds = _kinds(e.kernel)
    if s not in kinds.stores:
        e.out.line("copy_commit();")
    if kinds.counted or s in kinds.stores:
        e.out.line(f"if ({e.leader}) bulk_commit();")


def wait(e: Emission, s: ins.WaitGroup) -> None:
    """Until at most so many groups are under way, for units that read memory themselves too."""
    kinds = _kinds(e.kernel)
    if kinds.counted or s in kinds.stores:
        e.out.line(f"if ({e.leader}) bulk_wait<{s.pending}>();")
    if s in kinds.stores:
        return
    e.out.line(f"copy_wait<{s.pending}>();")
    # After the last group other copies may be made to the same memory, by a unit.
    in_place = read_in_place(e.kernel)
    if (in_place and not s.pending) or kinds.copied & (e.sent | in_place):
        e.out.line("fence_async_proxy();")


@dataclass(frozen=True, slots=True)
class _Kinds:
    """The copies of a kernel's groups: by the threads, and by a unit that stores boxes.

    `stores` are the groups, with their waits, that only the unit's copies are in; where one of those
    is not waited for at once, the groups of both are `counted` alike.
    """

    stores: frozenset[Stmt]
    counted: bool
    copied: frozenset[Memory]  # what threads copy to


@functools.lru_cache(maxsize=8)
def _kinds(kernel: Kernel) -> _Kinds:
    every = [s for s in walk(kernel.body) if isinstance(s, ins.CopyAsync) and s.barrier is None]
    stores = {s for s in every if is_bulk(s)}
    closed: set[Stmt] = set()
    left = set(stores)
    todo: list[Body] = [kernel.body]
    for body in todo:  # which grows meanwhile
        todo += [inner for s in body for inner in bodies(s)]
        for at in range(len(body) - 2):
            first, second, third = body[at : at + 3]
            done = isinstance(third, ins.WaitGroup) and not third.pending
            if first in stores and isinstance(second, ins.CommitGroup) and done:
                left.discard(first)
                closed |= {second, third}
    copied = frozenset(s.dst.memory for s in every if s not in stores)
    return _Kinds(frozenset() if left else frozenset(closed), bool(left), copied)


@functools.lru_cache(maxsize=8)
def read_in_place(kernel: Kernel) -> frozenset[Memory]:
    """The buffers from which a unit reads operands."""
    loads = (s for s in walk(kernel.body) if isinstance(s, ins.Load) and s.out.type.layout is None)
    return frozenset(s.region.memory for s in loads)


EMITTERS: dict[type, Emitter] = {
    ins.CopyAsync: copy_async,
    ins.CommitGroup: commit,
    ins.WaitGroup: wait,
}
