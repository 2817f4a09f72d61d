"""Tensors whose parts come and go in no order that is known beforehand stay on the chip for a turn.

Before (tests/ir/resident-tensors/example.tir), where turns add to the same elements:

    grid m in range(0, 64, 16), n in range(0, 64, 16)
    %x = load @x[m : +16!, n : +16!] : f32[16, 16]
    %s = reduce sum %x, axis=0 : f32[16]
    atomic_rmw add @g[n : +16!], %s

After, where a turn has the elements for itself:

    grid n in range(0, 64, 16)
    alloc @g_here: buffer f32[16]
    %g = load @g[n : +16] : f32[16]
    store @g_here[0 : +16!], %g
    for m in range(0, 64, 16) {
      %x = load @x[m : +16!, n : +16!] : f32[16, 16]
      %s = reduce sum %x, axis=0 : f32[16]
      atomic_rmw add @g_here[n - n : +16], %s
    }
    %g_1 = load @g_here[0 : +16!] : f32[16]
    store @g[n : +16], %g_1

So are tensors that are written in a branch, with gaps, by numbers from a tensor, or that are read
after they were written, and small ones that are read where only the machine knows. A machine whose
transfers are fixed before the launch moves boxes; within the box the core goes where it likes. Axes of
the grid by which boxes overlap become loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.analysis.accessed_boxes import (
    Range,
    Touch,
    Touches,
    Window,
    is_multiple,
    touches,
    values,
    window,
)
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import AxisSlice, Kernel, Memory, Region, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, linear
from dslc.compiler.ir.arithmetic.index_arithmetic import sub
from dslc.compiler.ir.expr import Expr, Var, free_vars
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import GridAxis
from dslc.compiler.ir.rewrite import Rewriter, fresh_name, map_kernels
from dslc.compiler.ir.traverse import memories, values_in, walk
from dslc.compiler.passes.padding.zero_padding import inside_of


@dataclass(frozen=True, slots=True)
class ResidentTensors:
    """Keeps boxes of tensors on the chip, of `most` bytes at the most where they are only read.

    Of those that are written a box of more than `memory` bytes is DSL0553. Transfers move whole words
    of `word` bytes.
    """

    memory: int
    most: int
    word: int
    name: ClassVar[str] = "resident-tensors"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose tensors are read and written at places that are known beforehand."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        if kernel.dims:
            return kernel
        touched = touches(kernel)
        needs = {m: why for m in kernel.tensors if (why := self._reason(m, touched, kernel))}
        written = [m for m in needs if any(t.writes for t in touched.of(m))]
        kept = self._kept(kernel, touched, written)
        boxes = {m: self._box(m, touched, kernel, kept) for m in needs}
        for memory, box in list(boxes.items()):
            size = _bytes(memory, box)
            if memory not in written and size > self.most:
                del boxes[memory]
            elif memory in written and size > self.memory:
                raise _too_large(memory, size, needs[memory], self.memory)
        if not boxes:
            return kernel
        return _OnChip(kernel, boxes, written).turned(kept)

    def _reason(self, memory: Memory, found: Touches, kernel: Kernel) -> _Reason | None:
        """Why a tensor stays; None where its parts come and go."""
        unit, grid = self._unit(memory), {a.var: _counted(a) for a in kernel.grid}
        whole = int(constant(memory.shape[-1]) or 0) if memory.shape else 0
        for touch in found.of(memory) if unit > 1 else ():
            if not _is_worded(touch, found.ranges | grid, unit, whole):
                return _Reason(f"its parts are not whole words of {self.word} bytes", touch)
        return _reason(memory, found, kernel)

    def _unit(self, memory: Memory) -> int:
        """The elements of whole words; of codes that may lie packed."""
        word = 8 * self.word
        return word // math.gcd(word, memory.dtype.bits)

    def _box(self, memory: Memory, found: Touches, kernel: Kernel, kept: list[GridAxis]) -> Window:
        """What a turn over some axes of the grid touches; along the last axis of whole words."""
        own = {a.var for a in kept}
        grid = {a.var: _counted(a) for a in kernel.grid}
        moved = {v: r for v, r in grid.items() if v not in own}
        box = window(found.of(memory), found.ranges | moved, own)
        if not box:
            return box
        *outer, (low, size) = box
        unit, whole = self._unit(memory), int(constant(memory.shape[-1]) or 0)
        start = constant(low)
        ends = isinstance(start, int) and start + size >= whole
        if not is_multiple(low, grid, unit) or not (ends or size % unit == 0):
            return (*outer, (ex.index(0), whole))
        return box

    def _kept(self, kernel: Kernel, found: Touches, written: list[Memory]) -> list[GridAxis]:
        """The axes of the grid whose turns have boxes of their own."""
        kept = list(kernel.grid)
        while True:
            boxes = [self._box(m, found, kernel, kept) for m in written]
            apart = [a for a in kept if all(_has_own(box, a, kept) for box in boxes)]
            if len(apart) == len(kept):
                return kept
            kept = apart


def _is_worded(touch: Touch, ranges: Mapping[Var, Range], unit: int, whole: int) -> bool:
    """Whether the parts begin with words, and what is written leaves none half."""
    axis = touch.region.axes[-1]
    start = constant(touch.starts[-1])
    ends = isinstance(start, int) and start + axis.size >= whole
    return is_multiple(touch.starts[-1], ranges, unit) and (
        not touch.writes or ends or axis.size % unit == 0
    )


def _counted(axis: GridAxis) -> Range:
    first, step = (int(constant(e) or 0) for e in (axis.start, axis.step))
    return Range(ex.index(first), step, len(values(axis)))


def _bytes(memory: Memory, box: Window) -> int:
    total = max(1, memory.dtype.bits // 8)
    for _, size in box:
        total *= size
    return total


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a tensor stays, and by which access."""

    text: str
    touch: Touch


def _reason(memory: Memory, found: Touches, kernel: Kernel) -> _Reason | None:
    """Why a tensor's parts are in no order that is known; None where they are."""
    counted = {a.var for a in kernel.grid} | set(found.ranges)
    own = found.of(memory)
    for touch in own:
        dynamic = touch.uncounted or any(_is_dynamic(e, counted) for e in touch.starts)
        word = "written" if touch.writes else "read"
        if isinstance(touch.stmt, ins.AtomicRmw):
            return _Reason("turns add to it", touch)
        if dynamic or isinstance(touch.stmt, ins.Gather | ins.Scatter):
            return _Reason(f"where it is {word} only a core knows", touch)
        if isinstance(touch.stmt, ins.Store) and touch.stmt.where is not None:
            return _Reason("a mask says which of its elements are written", touch)
        if touch.writes and touch.choice:
            return _Reason("it is written in a branch or a loop of unknown iterations", touch)
        if touch.writes and any(a.step > 1 for a in touch.region.axes):
            return _Reason("it is written with gaps", touch)
    return _read_back(own, found, {a.var for a in kernel.grid})


def _is_dynamic(expr: Expr, counted: set[Var]) -> bool:
    return any(True for _ in values_in(expr)) or not free_vars(expr) <= counted


def _read_back(own: list[Touch], found: Touches, grid: set[Var]) -> _Reason | None:
    """Where a turn reads what it may have written before."""
    written: list[Touch] = []
    for touch in own:
        if touch.writes:
            written.append(touch)
        elif any(not set(touch.within) & set(w.within) for w in written):
            return _Reason("it is read after it was written", touch)
    for touch in own:
        for loop in () if touch.writes else touch.within:
            inside = [t for t in own if loop in t.within]
            if not any(t.writes for t in inside):
                continue
            outer = touch.within[: touch.within.index(loop) + 1]
            box = window(inside, found.ranges, grid | {f.var for f in outer})
            known = found.ranges.get(loop.var)
            apart = known is not None and _separates(box, loop.var, known.step)
            if not apart or own.index(touch) > min(own.index(t) for t in inside if t.writes):
                return _Reason("it is read after it was written", touch)
    return None


def _separates(box: Window, var: Var, step: int) -> bool:
    """Whether boxes of two values of a variable have no element in common."""
    for low, size in box:
        terms = linear(low).terms
        own = terms.get(var, 0)
        if abs(own * step) >= size and all(a is var or var not in free_vars(a) for a in terms):
            return True
    return False


def _has_own(box: Window, axis: GridAxis, kept: list[GridAxis]) -> bool:
    """Whether turns that differ along an axis of the grid have boxes apart, whatever their others."""
    step = int(constant(axis.step) or 0)
    others = {a.var for a in kept} - {axis.var}
    alone = tuple((low, size) for low, size in box if not free_vars(low) & others)
    return len(values(axis)) <= 1 or _separates(alone, axis.var, step)


class _OnChip(Rewriter):
    """Accesses to tensors that stay become accesses to their boxes."""

    def __init__(self, kernel: Kernel, boxes: dict[Memory, Window], written: list[Memory]) -> None:
        super().__init__()
        self._kernel, self._boxes, self._written = kernel, boxes, written
        taken = {m.name for s in walk(kernel.body) for m in memories(s)}
        taken |= {p.name for p in kernel.params}
        self._here = {
            m: Memory(
                fresh_name(f"{m.name}_here", taken),
                m.dtype,
                tuple(ex.index(size) for _, size in box),
                Role.BUFFER,
                loc=m.loc,
            )
            for m, box in boxes.items()
        }

    def turned(self, kept: list[GridAxis]) -> Kernel:
        """The kernel over the axes that are kept; the others are loops."""
        body = self.body(self._kernel.body)
        for axis in reversed(self._kernel.grid):
            if axis not in kept:
                loop = ins.For(axis.var, axis.start, axis.stop, axis.step, body)
                body = (loop,)
        begin = [s for m in self._boxes for s in self._begun(m)]
        end = [s for m in self._written if m in self._boxes for s in self._ended(m)]
        return replace(self._kernel, grid=tuple(kept), body=(*begin, *body, *end))

    def _begun(self, memory: Memory) -> Iterator[Stmt]:
        """The box with what the tensor holds; of one that is only written, zeros."""
        here, region = self._here[memory], self._region(memory)
        loc = self._kernel.loc
        first = Value(TileType(memory.dtype, region.shape), memory.name)
        yield ins.Alloc(here, loc=loc)
        if memory.role is Role.OUT:
            zero = ex.Const(False if memory.dtype == BOOL else 0, memory.dtype)
            yield ins.Full(first, zero, loc=loc)
        else:
            yield ins.Load(first, region, loc=loc)
        yield ins.Store(_whole(here), first, loc=loc)

    def _ended(self, memory: Memory) -> Iterator[Stmt]:
        region = self._region(memory)
        last = Value(TileType(memory.dtype, region.shape), memory.name)
        yield ins.Load(last, _whole(self._here[memory]), loc=self._kernel.loc)
        yield ins.Store(region, last, loc=self._kernel.loc)

    def _region(self, memory: Memory) -> Region:
        return Region(memory, tuple(AxisSlice(low, size) for low, size in self._boxes[memory]))

    def region(self, region: Region) -> Region:
        """The same part of the box."""
        if region.memory not in self._boxes:
            return super().region(region)
        pairs = zip(region.axes, self._boxes[region.memory], strict=True)
        axes = tuple(replace(a, start=sub(a.start, low), checked=True) for a, (low, _) in pairs)
        return Region(self._here[region.memory], axes)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """What a load takes of a box that sticks out of its tensor is masked: it may be written."""
        if not (isinstance(stmt, ins.Load) and stmt.region.memory in self._boxes):
            return super().statement(stmt)
        memory, dtype = stmt.region.memory, stmt.out.type.dtype
        if _lies_inside(memory, self._boxes[memory]):
            return super().statement(stmt)
        made, inside = inside_of(stmt.region, stmt.out.type.shape, stmt.loc, lambda _: True)
        if inside is None or (memory not in self._written and stmt.other is None):
            return super().statement(stmt)
        read, fill = Value(stmt.out.type, stmt.out.name), Value(stmt.out.type, "fill")
        zero = ex.Const(False if dtype == BOOL else 0, dtype)
        return (
            self.rebuild(replace(stmt, out=read, other=None)),
            *made,
            ins.Full(fill, stmt.other or zero, loc=stmt.loc),
            ins.Where(stmt.out, inside, read, fill, loc=stmt.loc),
        )


def _lies_inside(memory: Memory, box: Window) -> bool:
    """Whether no element of a box is out of its tensor's bounds, wherever turns begin."""
    for (low, size), extent in zip(box, memory.shape, strict=True):
        start = constant(low)
        if start is None or not 0 <= start <= int(constant(extent) or 0) - size:
            return False
    return True


def _whole(memory: Memory) -> Region:
    sizes = (int(constant(n) or 0) for n in memory.shape)
    return Region(memory, tuple(AxisSlice(ex.index(0), n, checked=False) for n in sizes))


def _too_large(memory: Memory, size: int, why: _Reason, most: int) -> DiagnosticError:
    extents = ", ".join(str(constant(n)) for n in memory.shape)
    return error(
        "DSL0553",
        f"tensor {memory.name}[{extents}]: {why.text}, so that {size} bytes of it stay in a core's "
        f"memory, which has {most} for that",
        why.touch.stmt.loc,
        hint="smaller blocks, or a kernel whose turns each write a part of their own",
    )
