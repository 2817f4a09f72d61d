"""Asynchronous copies: cp.async by all threads of the block, in groups."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import gcd, prod

from dslc.codegen.c_family.accesses import (
    Access,
    access,
    first_copy,
    pointer,
    refuse_row,
    vector_width,
)
from dslc.codegen.c_family.ctypes_of import memory_bits
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import loops
from dslc.codegen.cuda import bulk
from dslc.codegen.cuda.bulk import is_bulk
from dslc.compiler.ir import Kernel, Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, walk
from dslc.compiler.layout import Layout, Mode


def spread(shape: tuple[int, ...], threads: int, width: int) -> Layout:
    """A tile over the threads in runs of `width` along the last axis, neighbours beside each other."""
    total = prod(shape) // width
    used = gcd(total, threads)
    spatial: list[Mode] = []
    local: list[Mode] = [Mode(width, len(shape) - 1, 1)] if width > 1 else []
    left = used
    outer: list[Mode] = []
    for axis in reversed(range(len(shape))):
        extent, unit = shape[axis], 1
        if axis == len(shape) - 1:
            extent, unit = extent // width, width
        here = gcd(left, extent)
        if here > 1:
            spatial.insert(0, Mode(here, axis, unit))
        if extent // here > 1:
            outer.insert(0, Mode(extent // here, axis, unit * here))
        left //= here
    if threads // (used // left) > 1:
        spatial.insert(0, Mode(threads // (used // left), -1, 0))
    return Layout(shape, tuple(spatial), (*outer, *local))


def copy_async(e: Emission, s: ins.CopyAsync) -> None:
    """Every thread copies its runs; what is out of bounds is filled with zeros.

    Which thread copies what is the instruction's to say, since a reader may rely on it; only where it
    does not are runs spread over the threads.
    """
    if bulk.is_bulk(s):
        bulk.copy(e, s)
        return
    refuse_row(s.src.memory)
    bits = memory_bits(s.dst.memory.dtype)
    for size in (16, 8, 4):
        width = size * 8 // bits
        layout = s.layout or _spread(e, s, width)
        if width and layout is not None and _is_aligned(e, s, layout, width):
            _copy(e, s, layout, width, size)
            return
    _by_elements(e, s, s.layout or spread(s.dst.shape, e.threads, 1))


def _spread(e: Emission, s: ins.CopyAsync, width: int) -> Layout | None:
    shape = s.dst.shape
    return spread(shape, e.threads, width) if width and shape and shape[-1] % width == 0 else None


def _is_aligned(e: Emission, s: ins.CopyAsync, layout: Layout, width: int) -> bool:
    widths = (vector_width(e, region, layout) for region in (s.dst, s.src))
    return all(found % width == 0 for found in widths)


def _copy(e: Emission, s: ins.CopyAsync, layout: Layout, width: int, size: int) -> None:
    to = access(e, s.dst, layout, width)
    source = Access(e, s.src, layout, width, to.runs)
    once = first_copy(layout)
    with loops(e.out, to.runs):
        inside = source.inside() or "true"
        target = f"{pointer(e, s.dst.memory)} + {to.address()}"
        base = pointer(e, s.src.memory)
        origin = f"{base} + {source.address()}"
        line = f"copy_async_{size}({target}, {inside} ? {origin} : {base}, {inside});"
        e.out.line(f"if ({once}) {line}" if once else line)


def _by_elements(e: Emission, s: ins.CopyAsync, layout: Layout) -> None:
    """What no vector can do goes through registers."""
    to = access(e, s.dst, layout, 1)
    source = Access(e, s.src, layout, 1, to.runs)
    once = first_copy(layout)
    with loops(e.out, to.runs):
        inside = source.inside()
        origin = f"({pointer(e, s.src.memory)})[{source.address()}]"
        value = f"{inside} ? {origin} : 0" if inside else origin
        line = f"({pointer(e, s.dst.memory)})[{to.address()}] = {value};"
        e.out.line(f"if ({once}) {line}" if once else line)


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
    in_place = _read_in_place(e.kernel)
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
def _read_in_place(kernel: Kernel) -> frozenset[Memory]:
    """The buffers from which a unit reads operands."""
    loads = (s for s in walk(kernel.body) if isinstance(s, ins.Load) and s.out.type.layout is None)
    return frozenset(s.region.memory for s in loads)


EMITTERS: dict[type, Emitter] = {
    ins.CopyAsync: copy_async,
    ins.CommitGroup: commit,
    ins.WaitGroup: wait,
}
