"""TMA copies (Tensor Memory Accelerator): what the copy unit can move in bulk: boxes of tensors.

Before (tests/ir/tma-stores/example.tir):

    store @c[m : +64, n : +64], %c

After:

    sync
    alloc @c_tile: buffer shared f16[64, 64] `swizzle(local(64, 8), dim=1).local(1, 8)`
    store @c_tile[0 : +64!, 0 : +64!], %c
    sync
    copy_async @c[m : +64, n : +64], @c_tile[0 : +64!, 0 : +64!]
    commit_group
    wait_group pending=0

That is for threads that hold the results of an asynchronous product, and short runs of each row. With
the fourth stage for which it made room, f16 of 8192^3 went from 469 to 609 TFLOP/s on an H200
(docs/performance/cuda_tried.md).

Hopper's unit takes a tensor of up to five axes whose rows follow each other at multiples of 16 bytes,
and copies a box of it to or from column blocks with its own swizzles (PTX ISA 8.5, "Tensor copies").
What is out of bounds it fills with zeros, or leaves alone. It also copies bytes in a row: packed
weights of one k, a row of scales.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from dslc.compiler.analysis.scalar_facts import Facts, FactsRewriter
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Expr, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import Body, memories, walk
from dslc.compiler.ir.values import AxisSlice, Memory, Region
from dslc.compiler.layout import Layout
from dslc.compiler.passes.pipelining.prefetchable_loads import element_strides, multiple
from dslc.compiler.passes.pipelining.swizzled_shared import swizzled_layout, swizzled_tile

_MOST_AXES, _MOST_ROWS = 5, 256
_MOST_RUNS = 16  # copies that one thread starts for a tile
_UNIT = 16  # bytes of which all strides are multiples


def is_loaded_in_bulk(load: ins.Load, params: tuple[Memory, ...], facts: Facts) -> bool:
    """Whether the load may be a bulk copy: runs of what threads read, boxes of anything."""
    if load.out.type.layout is not None and is_run(load.region, params, facts):
        return True
    zeros = load.other is None or constant(load.other) == 0
    return zeros and is_box(load.region, params, facts)


def is_run(region: Region, params: tuple[Memory, ...], facts: Facts) -> bool:
    """Whether the region is rows of bytes, in bounds, each from a multiple of 16 on and as long."""
    memory, bits = region.memory, region.memory.dtype.bits
    if memory not in params or not region.axes or (memory.align or _UNIT) % _UNIT:
        return False
    last = region.axes[-1]
    if any(a.is_guarded or a.step != 1 for a in region.axes) or last.dropped:
        return False
    *strides, one = element_strides(memory)
    run, rows = rows_of(region)
    wide = max((a.size for a in region.axes[:-1]), default=1)
    if constant(one) != 1 or run * bits % (8 * _UNIT) or rows > min(wide, _MOST_RUNS):
        return False
    steps = [
        last.start,
        *(
            s
            for s, a in zip(strides, region.axes[:-1], strict=True)
            if a.size > 1 or constant(a.start) != 0
        ),
    ]
    return all(multiple(facts, step) * bits % (8 * _UNIT) == 0 for step in steps)


def rows_of(region: Region) -> tuple[int, int]:
    """How many elements of a region follow each other in a row-major memory, and how many such rows."""
    run = 1
    for axis, extent in zip(reversed(region.axes), reversed(region.memory.shape), strict=True):
        run *= axis.size
        if constant(extent) != axis.size or region.memory.strides is not None:
            break
    return run, prod(region.shape) // run


def is_box(region: Region, params: tuple[Memory, ...], facts: Facts) -> bool:
    """Whether the unit may copy the region."""
    memory, shape, bits = region.memory, region.shape, region.memory.dtype.bits
    if swizzled_layout(shape, bits) is None or memory not in params or memory.packed is not None:
        return False
    if memory.align is not None and memory.align % _UNIT:
        return False
    if not 2 <= memory.rank <= _MOST_AXES or shape[0] > _MOST_ROWS:
        return False
    if any(a.step != 1 for a in region.axes) or region.axes[-1].dropped:
        return False
    if any(a.end is not None for a in region.axes):
        return False  # the unit knows the tensor's ends alone
    if any(not _pads_tensor(a, n) for a, n in zip(region.axes, memory.shape, strict=True)):
        return False
    steps = (multiple(facts, s) * bits // 8 for s in element_strides(memory)[:-1])
    return all(step % _UNIT == 0 for step in steps)


def _pads_tensor(axis: AxisSlice, extent: Expr) -> bool:
    """Whether padding, where there is any, lies behind the tensor's end."""
    return axis.limit is None or (axis.start == index(0) and constant(extent) == axis.limit)


def is_short(layout: Layout, bits: int) -> bool:
    """Whether threads hold less than 16 bytes of a row together."""
    last = layout.local_modes[-1] if layout.local_modes else None
    run = last.size if last is not None and (last.axis, last.stride) == (layout.rank - 1, 1) else 1
    return run * bits < _UNIT * 8


def bulk_stores(kernel: Kernel) -> frozenset[Stmt]:
    """The stores at the end of a kernel, one a tensor, that may go through shared memory in bulk."""
    finder = _Finder(kernel)
    finder.body(kernel.body)
    return frozenset(finder.found)


class _Finder(FactsRewriter):
    """Visits the statements of a kernel; it changes nothing."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.kernel_of = kernel
        self.touched = Counter(m for s in walk(kernel.body) for m in memories(s))
        self.found: set[Stmt] = set()

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """Only what stands right in the kernel's body is looked at."""
        if isinstance(stmt, ins.Store):
            region, once = stmt.region, self.touched[stmt.region.memory] == 1
            if once and stmt.where is None and is_box(region, self.kernel_of.tensors, self.facts):
                self.found.add(stmt)
        if not isinstance(stmt, ins.For | ins.While | ins.If):
            self._learn(stmt)
        return (stmt,)


@dataclass(frozen=True, slots=True)
class TmaStores:
    """Sends the results of asynchronous products to memory by the unit that copies boxes."""

    active: bool
    name: str = "tma-stores"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its stores in bulk; as it is where the machine has no such unit."""
        return map_kernels(program, _with_bulk_stores) if self.active else program


def _with_bulk_stores(kernel: Kernel) -> Kernel:
    if not any(isinstance(s, ins.Dot) and s.is_async for s in walk(kernel.body)):
        return kernel
    bulk = {
        s
        for s in bulk_stores(kernel)
        if isinstance(s, ins.Store)
        and s.x.type.layout is not None
        and is_short(s.x.type.layout, s.x.type.dtype.bits)
    }
    body = [t for s in kernel.body for t in (_stored(s) if s in bulk else (s,))]
    return replace(kernel, body=tuple(body)) if bulk else kernel


def _stored(stmt: Stmt) -> Body:
    assert isinstance(stmt, ins.Store)
    loc, tile = stmt.loc, swizzled_tile(stmt.region.memory, stmt.x.type.shape, stmt.loc)
    return (
        ins.Sync(loc=loc),  # what lay there has been read
        ins.Alloc(tile.memory, loc=loc),
        ins.Store(tile, stmt.x, loc=loc),
        ins.Sync(loc=loc),
        ins.CopyAsync(stmt.region, tile, loc=loc),
        ins.CommitGroup(loc=loc),
        ins.WaitGroup(0, loc=loc),
    )
