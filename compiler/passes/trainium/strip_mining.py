"""Strip mining: sums that do not fit into SBUF are made for some rows first, then for others.

Before (tests/ir/strip-mine/example.tir), for y = (x u) v with f32 sums of 200 KiB a partition:

    %acc_5 = for k in range(0, K, 4) carry (%acc_1 : f32[512, 12800] = %acc) {
      ...
    }
    %low = cast %acc_5 : bf16[512, 12800]
    for n in range(0, N, 8) {
      %y = load @v[0 : +12800!, n : +8] : f32[12800, 8]
      ...
      %y_2 = dot %low, %y_1 : f32[512, 8]

After: each part is summed over all of k and rounded before the next one begins; u is read again for
each, v once for all.

    %acc_5 = for k_1 in range(0, K, 4) carry (%acc_1 : f32[256, 12800] = %acc) {
      ...
    }
    %low = cast %acc_5 : bf16[256, 12800]
    %acc_11 = for k_2 in range(0, K, 4) carry (%acc_7 : f32[256, 12800] = %acc_6) {
      ...
    }
    %low_1 = cast %acc_11 : bf16[256, 12800]
    for n in range(0, N, 8) {
      %y = load @v[0 : +12800!, n : +8] : f32[12800, 8]
      ...
      %y_2 = dot %low, %y_1 : f32[256, 8]
      ...
      %y_4 = dot %low_1, %y_1 : f32[256, 8]

Where the axis is split, no element may bear on one at another coordinate (`axis_extents`): every number
is what it was. Loops that carry split tiles are distributed over the parts, all others are jammed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from dslc.compiler.analysis.axis_extents import Axis, classes_of
from dslc.compiler.ir import Kernel, Memory, Role, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import clone_body, map_kernels, scalar_names
from dslc.compiler.ir.traverse import Body, operands, reads, results, walk
from dslc.compiler.passes.padding.resized import Resized
from dslc.compiler.passes.trainium.capacity import sbuf_peak, usable
from dslc.compiler.passes.trainium.placement import PARTITIONS
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import engines_of

_PURE = (
    ins.Full, ins.Undefined, ins.Load, ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Cast, ins.Dot,
    ins.Reduce, ins.Transpose, ins.Reshape, ins.Broadcast, ins.Let,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StripMine:
    """Splits the rows of a kernel whose sums do not fit, once `place` has put its tiles."""

    target: Target
    place: Callable[[Kernel], Kernel]
    name: ClassVar[str] = "strip-mine"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with the kernels that do not fit in as few parts as fit."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        room = usable(engines_of(self.target))
        sums = max(_carried(kernel.body), key=_least_bytes, default=None)
        if sums is None or 2 * _least_bytes(sums) < room or self._peak(kernel) <= room:
            return kernel
        for axis in range(sums.type.rank):
            members = _independent(kernel, (sums, axis))
            if members is None:
                continue
            for sizes in _parts(sums.type.shape[axis]):
                split = _split(kernel, members, sizes)
                if split is not None and self._peak(split) <= room:
                    return split
        return kernel

    def _peak(self, kernel: Kernel) -> int:
        return sbuf_peak(self.place(kernel)).bytes


def _carried(body: Body) -> list[Value]:
    """The tiles that loops hand from iteration to iteration."""
    loops = (s for s in walk(body) if isinstance(s, ins.For))
    return [c.inner for loop in loops for c in loop.carried if isinstance(c.inner, Value)]


def _least_bytes(value: Value) -> int:
    """Bytes of each partition where all of them share a tile."""
    return prod(value.type.shape) * value.type.dtype.bits // 8 // PARTITIONS


def _parts(extent: int) -> Iterator[Sequence[int]]:
    """Parts of whole multiples of 128, few and large ones first: halves, the last one halved again."""
    size = extent
    while size % (2 * PARTITIONS) == 0:
        size //= 2
        count = extent // size
        if count > 2:
            yield (*[2 * size] * (count // 2 - 1), size, size)
        yield (size,) * count


def _independent(kernel: Kernel, axis: Axis) -> list[Axis] | None:
    """The axes that have one coordinate with this one; None where its elements bear on each other."""
    classes = classes_of(kernel)
    if classes.is_tied(axis):
        return None
    members = classes.members(axis)
    values = {v for v, _ in members}
    numbered = {s.out for s in walk(kernel.body) if isinstance(s, ins.Arange)}
    placed = any(v.type.layout is not None for v in values)
    return None if len(values) < len(members) or values & numbered or placed else members


class _CannotSplitError(Exception):
    """A statement that neither a part alone nor all parts together can have."""


def _split(kernel: Kernel, members: Sequence[Axis], sizes: Sequence[int]) -> Kernel | None:
    """The kernel with its members in parts of those sizes; None where a statement forbids it."""
    if any(r.memory.role is not Role.IN for s in walk(kernel.body) for r in reads(s)):
        return None
    if not _written_in_order(kernel, dict(members)):
        return None
    try:
        return replace(kernel, body=_Parts(kernel, members, sizes).body(kernel.body))
    except _CannotSplitError:
        return None


def _written_in_order(kernel: Kernel, members: Mapping[Value, int]) -> bool:
    """Whether each element of a memory is written by one part alone, so that the last write stays."""
    starts: dict[Memory, ex.Expr] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Store) and stmt.x in members:
            kept = [a for a in stmt.region.axes if not a.dropped]
            start = kept[members[stmt.x]].start
            if starts.setdefault(stmt.region.memory, start) != start:
                return False
    return True


class _Parts:
    """Rewrites bodies: what is split once for each part, the rest once for all."""

    def __init__(self, kernel: Kernel, members: Sequence[Axis], sizes: Sequence[int]) -> None:
        self._split = {v for v, _ in members}
        self._parts: list[tuple[Resized, dict[Value, Value]]] = []
        for number, size in enumerate(sizes):
            self._parts.append((Resized(dict.fromkeys(members, size), sum(sizes[:number])), {}))
        self._taken = scalar_names(kernel)

    def body(self, body: Body) -> Body:
        """Runs of split statements part by part; what all parts share stands before them."""
        statements: list[Stmt] = []
        run: list[Stmt] = []
        for stmt in body:
            split = self._touches(stmt)
            jammed = split and isinstance(stmt, ins.For) and not self._carries(stmt)
            if split and not jammed:
                if not isinstance(stmt, ins.Store) and not _is_pure(stmt):
                    raise _CannotSplitError
                run.append(stmt)
                continue
            if jammed or not _is_pure(stmt):
                statements += self._each(run)
                run = []
            if jammed and isinstance(stmt, ins.For):
                statements.append(replace(stmt, body=self.body(stmt.body)))
            else:
                statements.append(stmt)
        return (*statements, *self._each(run))

    def _touches(self, stmt: Stmt) -> bool:
        """Whether a statement or one in it makes or reads a split tile."""
        names = (n for s in walk((stmt,)) for n in (*operands(s), *results(s)))
        return any(n in self._split for n in names)

    def _carries(self, loop: ins.For) -> bool:
        """Whether a loop hands on split tiles; then it may hand on nothing else."""
        split = [c.inner in self._split for c in loop.carried]
        if any(split) and not all(split):
            raise _CannotSplitError
        return any(split)

    def _each(self, run: Sequence[Stmt]) -> Iterator[Stmt]:
        """A run for each part, over the tiles that the part has made before."""
        for narrowed, known in self._parts if run else ():
            body = narrowed.body(tuple(run))
            names = [n for s in body for n in results(s)]
            copy, handed = clone_body(body, self._taken, values=known, outputs=names)
            known.update(
                (name, use)
                for name, use in zip(names, handed, strict=True)
                if isinstance(name, Value) and isinstance(use, Value)
            )
            yield from copy


def _is_pure(stmt: Stmt) -> bool:
    return all(isinstance(s, (*_PURE, ins.For)) for s in walk((stmt,)))
