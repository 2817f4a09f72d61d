"""K of a product shared among the warps of a block.

    %acc = for k in range(0, K, 128) carry (%sum : f32[16, 32] = %zero) {
      %next = dot %a, %b, acc=%sum : f32[16, 32]

becomes, for four parts,

    %parts = for k in range(0, K, 128) carry (%sum : f32[4, 16, 32] = %none) {
      %a4 = reshape and transpose %a : f16[4, 16, 32]
      %b4 = reshape %b : f16[4, 32, 32]
      %next = dot %a4, %b4, acc=%sum : f32[4, 16, 32]
    }
    %total = reduce sum %parts, axis=0 : f32[16, 32]
    %acc = add %zero, %total : f32[16, 32]

A warp that takes a part of the first axis reads only its part of a and b, where warps that share the
columns would each read all of a. Tiles with few rows and columns so have work for all warps. The parts
are added once, in f32 and in one order. A part of packed weights is whole fragments of them, so that
they are stored alike however warps share them (`fragments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from dslc.compiler.analysis.accumulation import ADD, accumulators
from dslc.compiler.analysis.weights import packed_freely
from dslc.compiler.ir import Kernel, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import definitions, use_counts, walk
from dslc.compiler.passes.layouts.matrix import atoms_for
from dslc.compiler.passes.low_bit.fragments import fragment_depth
from dslc.compiler.targets import Target

_REGISTERS = 64  # of accumulators that a thread may hold
NARROW = 32  # rows or columns of a tile up to which warps that share the other side read too much


@dataclass(frozen=True, slots=True)
class Accumulation:
    """A carried tile of a loop that only products are added to, each iteration `dots` in this order."""

    loop: ins.For
    carried: Carried
    dots: tuple[ins.Dot, ...]


def accumulations(kernel: Kernel) -> list[Accumulation]:
    """What may be split: accumulators without explicit layouts, products of two axes."""
    sums: list[Accumulation] = []
    for stmt in walk(kernel.body):
        if not isinstance(stmt, ins.For):
            continue
        own = {s.out: s for s in stmt.body if isinstance(s, ins.Dot)}
        counts = use_counts((stmt,))
        for c, op in zip(stmt.carried, accumulators(stmt), strict=True):
            dots = _dots(c, own) if op == ADD else ()
            # Each sum is read by the next product alone, and the last by the next iteration.
            if dots and all(counts[v] == 1 for v in (c.inner, *(d.out for d in dots))):
                sums.append(Accumulation(stmt, c, dots))
    return sums


def _dots(c: Carried, own: dict[Value, ins.Dot]) -> tuple[ins.Dot, ...]:
    chain: list[ins.Dot] = []
    at = c.yielded
    while isinstance(at, Value) and at is not c.inner:
        dot = own.get(at)
        tiles = (dot.a, dot.b, dot.out) if dot is not None else ()
        if dot is None or any(t.type.rank != 2 or t.type.layout is not None for t in tiles):
            return ()
        chain.append(dot)
        if dot.acc is None:
            return ()
        at = dot.acc
    return tuple(reversed(chain))


def parts(kernel: Kernel, target: Target, threads: int) -> Iterator[int]:
    """Into how many parts the kernel's products may be split, most first."""
    sums = accumulations(kernel)
    count = threads // target.warp_size if sums else 1
    packed = packed_freely(kernel) if target.matrix_loads else ()
    least = max((fragment_depth(m.dtype.bits) for m in packed), default=1)
    while count > 1:
        if all(_fits(a, target, threads, count, least) for a in sums):
            yield count
        count //= 2


def _fits(a: Accumulation, target: Target, threads: int, count: int, least: int) -> bool:
    sums = count * prod(a.dots[0].out.type.shape)
    deep = all(
        any(d.a.type.shape[-1] % (count * max(u.k, least)) == 0 for u in atoms_for(d, target))
        for d in a.dots
    )
    return deep and sums <= _REGISTERS * threads


def split_over_warps(kernel: Kernel, count: int) -> Kernel:
    """The kernel with every accumulation in `count` parts."""
    return _Splitter(kernel, count).kernel(kernel)


class _Splitter(Rewriter):
    def __init__(self, kernel: Kernel, count: int) -> None:
        super().__init__()
        self.count = count
        self.made = definitions(kernel.body)
        self.lifted: dict[Value, Value] = {}
        self.loops: dict[ins.For, list[Accumulation]] = {}
        for a in accumulations(kernel):
            self.loops.setdefault(a.loop, []).append(a)
        self.dots = {d for found in self.loops.values() for a in found for d in a.dots}

    def value(self, value: Value) -> Value:
        """A sum that now has an axis of parts; any other tile as it is."""
        return self.lifted.get(value, value)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """Loops with sums that are split, and their products."""
        if isinstance(stmt, ins.For) and stmt in self.loops:
            return self._loop(stmt)
        if isinstance(stmt, ins.Dot) and stmt in self.dots:
            return self._dot(stmt)
        return super().statement(stmt)

    def _lift(self, value: Value) -> Value:
        shape = (self.count, *value.type.shape)
        self.lifted[value] = Value(TileType(value.type.dtype, shape), value.name)
        return self.lifted[value]

    def _loop(self, loop: ins.For) -> list[Stmt]:
        before: list[Stmt] = []
        after: list[Stmt] = []
        carried: dict[Carried, Carried] = {}
        for a in self.loops[loop]:
            c = a.carried
            assert isinstance(c.inner, Value)
            assert isinstance(c.result, Value)
            assert isinstance(c.init, Value)
            dtype = c.inner.type.dtype
            inner, result = self._lift(c.inner), self._lift(c.result)
            none = Value(inner.type, c.inner.name)
            zero = Const(0.0 if dtype.is_float else 0, dtype)
            before.append(ins.Full(none, zero, loc=loop.loc))
            after += self._total(c.init, c.result, result, loop)
            del self.lifted[c.result]
            for dot in a.dots:
                self._lift(dot.out)
            carried[c] = Carried(result, inner, none, self.lifted[a.dots[-1].out])
        kept = [c for c in loop.carried if c not in carried]
        rebuilt = self.rebuild(replace(loop, carried=tuple(kept)))
        assert isinstance(rebuilt, ins.For)
        others = iter(rebuilt.carried)
        every = tuple(carried[c] if c in carried else next(others) for c in loop.carried)
        return [*before, replace(rebuilt, carried=every), *after]

    def _total(self, init: Value, result: Value, parts: Value, loop: ins.For) -> list[Stmt]:
        # A tile of its own, so that it may lie otherwise than the parts: then each thread adds a
        # share of the result.
        moved = Value(parts.type, parts.name)
        apart = ins.Reshape(moved, parts, loc=loop.loc)
        initial = self.made.get(init)
        zero = (
            isinstance(initial, ins.Full)
            and isinstance(initial.value, Const)
            and not initial.value.value
        )
        if zero:
            return [apart, ins.Reduce(result, "sum", moved, 0, loc=loop.loc)]
        total = Value(result.type, result.name)
        return [
            apart,
            ins.Reduce(total, "sum", moved, 0, loc=loop.loc),
            ins.Binary(result, "add", init, total, loc=loop.loc),
        ]

    def _dot(self, dot: ins.Dot) -> list[Stmt]:
        assert dot.acc is not None
        steps: list[Stmt] = []
        parts = [
            None if x is None else self._part(x, axis, steps)
            for x, axis in ((dot.a, 1), (dot.b, 0), (dot.scale_a, 1), (dot.scale_b, 0))
        ]
        left, right, scale_a, scale_b = parts
        assert left is not None
        assert right is not None
        product = replace(
            dot,
            out=self.lifted[dot.out],
            a=left,
            b=right,
            acc=self.value(dot.acc),
            scale_a=scale_a,
            scale_b=scale_b,
        )
        return [*steps, product]

    def _part(self, x: Value, axis: int, steps: list[Stmt]) -> Value:
        """An operand with the parts of k in front; `steps` learn how that is made."""

        def tile(*shape: int) -> Value:
            return Value(TileType(x.type.dtype, shape), x.name)

        (rows, columns), count = x.type.shape, self.count
        loc = self.made[x].loc if x in self.made else None
        if axis == 0:
            steps.append(ins.Reshape(found := tile(count, rows // count, columns), x, loc=loc))
            return found
        apart, found = tile(rows, count, columns // count), tile(count, rows, columns // count)
        steps.append(ins.Reshape(apart, x, loc=loc))
        steps.append(ins.Transpose(found, apart, (1, 0, 2), loc=loc))
        return found
