"""Turns over blocks of a row become an axis of the tiles, where a turn takes parts of its block.

Before (tests/ir/batch-turns/example.tir), a turn has the halves of one head of 128 elements:

    grid h in range(0, 512, 128)
    %a = load @x[0 : +16!, h : +64!] : f16[16, 64]
    %b = load @x[0 : +16!, h + 64 : +64!] : f16[16, 64]
    %c = load @cos[0 : +16!, 0 : +64!] : f16[16, 64]
    %d = mul %a, %c : f16[16, 64]
    ...

After, a turn has all heads, of rows that are loaded and stored as they lie in memory:

    grid h in range(0, 512, 512)
    %x_block = load @x[0 : +16!, h : +512!] : f16[16, 512]
    %x_blocks = reshape %x_block : f16[16, 4, 128]
    %a = extract %x_blocks, starts=(0, 0, 0), steps=(1, 1, 1) : f16[16, 4, 64]
    ...
    %d = mul %a, %c_2 : f16[16, 4, 64]
    ...
    %d_1 = concat %e, %d, axis=2 : f16[16, 4, 128]
    %d_2 = reshape %d_1 : f16[16, 512]
    store @x[0 : +16!, h : +512!], %d_2

Join-turns makes longer slices of slices that follow on one another. Here there are gaps between them,
that other slices of the same turn take. Transfers of short rows cost more than their bytes, and an
instruction has a start that more elements share. Every number is what it was: turns do not bear on
one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

from dslc.compiler.ir import Kernel, Region, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Name, operands, tile_of
from dslc.compiler.passes.trainium.capacity import sbuf_peak, usable
from dslc.compiler.passes.trainium.join_turns import ROW, constants
from dslc.compiler.passes.trainium.row_blocks import RowBlock, blocks_along
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import engines_of

_KNOWN = (*ins.ELEMENTWISE, ins.Full, ins.Load, ins.Store, ins.Broadcast, ins.Reduce)


@dataclass(frozen=True, slots=True)
class BatchTurns:
    """Makes an axis of the turns that take parts of blocks of a row, in kernels without products."""

    target: Target
    # Passes of the list: what they are stands there, and an address is no part of a cache's key.
    place: Callable[[Kernel], Kernel] = field(repr=False)
    name: ClassVar[str] = "batch-turns"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with as many turns in one as use the machine."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        if not all(isinstance(s, _KNOWN) for s in kernel.body):
            return kernel
        for number in reversed(range(len(kernel.grid))):
            kernel = self._batched(kernel, number)
        return kernel

    def _batched(self, kernel: Kernel, number: int) -> Kernel:
        """The kernel with turns along one axis of the grid in one, as many as fit."""
        axis = kernel.grid[number]
        bounds = constants(axis)
        if bounds is None:
            return kernel
        start, stop, step = bounds
        blocks = blocks_along(kernel, axis, stop, step)
        if blocks is None or (stop - start) % step:
            return kernel
        turns = (stop - start) // step
        wanted = max(1, ROW * 8 // max(b.bits for b in blocks) // step)
        for count in range(min(turns, wanted), 1, -1):
            if turns % count:
                continue
            grown = replace(axis, step=ex.Const(count * step, axis.step.dtype))
            grid = (*kernel.grid[:number], grown, *kernel.grid[number + 1 :])
            body = _Batch(axis.var, step, count, blocks).body(kernel.body)
            batched = replace(kernel, body=body, grid=grid)
            if sbuf_peak(self.place(batched)).bytes <= usable(engines_of(self.target)) // 2:
                return batched
        return kernel


class _Batch(Rewriter):
    """The body of `count` turns in one: tiles along the counter have an axis more."""

    def __init__(self, var: ex.Var, step: int, count: int, blocks: Sequence[RowBlock]) -> None:
        super().__init__()
        self._var, self._step, self._count = var, step, count
        self._block = {s: b for b in blocks for s, _ in b.parts}
        self._first = {s: first for b in blocks for s, first in b.parts}
        self._wide: dict[RowBlock, Value] = {}
        # Tiles with the axis more, and where it is.
        self._batched: dict[Value, tuple[Value, int]] = {}

    def value(self, value: Value) -> Value:
        """A tile of all turns."""
        return self._batched[value][0] if value in self._batched else value

    def define(self, name: Name) -> Name:
        """The same where it is made."""
        return self.value(name) if isinstance(name, Value) else name

    def statement(self, stmt: Stmt) -> Iterator[Stmt]:
        """A load of all blocks and a store of them; steps on tiles with an axis more."""
        given = [v for v in operands(stmt) if v in self._batched]
        out = tile_of(stmt)
        if stmt in self._block:
            yield from self._load(stmt) if isinstance(stmt, ins.Load) else self._store(stmt)
        elif not given or out is None:
            yield stmt
        else:
            at = self._batched[given[0]][1]
            match stmt:
                case ins.Reduce(x=x, axis=axis, keepdims=keepdims):
                    k = axis % x.type.rank
                    made = self._made(out, at - (k < at and not keepdims))
                    yield replace(stmt, out=made, x=self.value(x), axis=k + (k >= at))
                case ins.Broadcast(x=x):
                    self._made(out, at + out.type.rank - x.type.rank)
                    yield self.rebuild(stmt)
                case _:
                    for value in operands(stmt):
                        if value not in self._batched:
                            yield from self._spread(value, at)
                    self._made(out, at)
                    yield self.rebuild(stmt)

    def _made(self, value: Value, at: int) -> Value:
        """The tile with `count` in front of axis `at`."""
        made = self._like(value, (*value.type.shape[:at], self._count, *value.type.shape[at:]))
        self._batched[value] = made, at
        return made

    def _like(self, value: Value, shape: Sequence[int], name: str = "") -> Value:
        return Value(replace(value.type, shape=tuple(shape)), name or value.name)

    def _spread(self, value: Value, at: int) -> Iterator[Stmt]:
        """A tile that all turns share, for each of them."""
        shape = value.type.shape
        one = self._like(value, (*shape[:at], 1, *shape[at:]))
        yield ins.Reshape(one, value)
        made = self._made(value, at)
        yield ins.Broadcast(made, one)

    def _load(self, stmt: ins.Load) -> Iterator[Stmt]:
        block = self._block[stmt]
        at, size = block.place, block.slice_of(stmt)[0]
        shape = stmt.out.type.shape
        if block not in self._wide:
            region = self._region(stmt.region, block)
            block_shape = (*shape[:at], self._count * self._step, *shape[at + 1 :])
            whole = self._like(stmt.out, block_shape, f"{block.memory.name}_block")
            yield replace(stmt, out=whole, region=region)
            split = (*shape[:at], self._count, self._step, *shape[at + 1 :])
            self._wide[block] = self._like(stmt.out, split, f"{block.memory.name}_blocks")
            yield ins.Reshape(self._wide[block], whole, loc=stmt.loc)
        made = self._made(stmt.out, at)
        starts, steps = [0] * made.type.rank, [1] * made.type.rank
        starts[at + 1], steps[at + 1] = self._first[stmt], block.slice_of(stmt)[1]
        assert size == made.type.shape[at + 1]
        yield ins.Extract(made, self._wide[block], tuple(starts), tuple(steps), loc=stmt.loc)

    def _store(self, stmt: Stmt) -> Iterator[Stmt]:
        """With the last of the block's parts, all of it."""
        block = self._block[stmt]
        assert isinstance(stmt, ins.Store)
        if stmt is not block.parts[-1][0]:
            return
        at, shape = block.place, stmt.x.type.shape
        tiles = block.tiles_in_order(self._step)
        assert tiles is not None
        parts: list[Value] = []
        interleaved = block.is_interleaved(self._step)
        for tile in tiles:
            if tile not in self._batched:
                yield from self._spread(tile, at)
            part = self._batched[tile][0]
            if interleaved:
                deep = (*part.type.shape[: at + 2], 1, *part.type.shape[at + 2 :])
                one = self._like(tile, deep)
                yield ins.Reshape(one, part, loc=stmt.loc)
                part = one
            parts.append(part)
        row = (*shape[:at], self._count * self._step, *shape[at + 1 :])
        along = at + 1 + interleaved
        joined_shape = list(parts[0].type.shape)
        joined_shape[along] = sum(p.type.shape[along] for p in parts)
        joined, made = self._like(stmt.x, joined_shape), self._like(stmt.x, row)
        assert prod(joined_shape) == prod(row)
        yield ins.Concat(joined, tuple(parts), along, loc=stmt.loc)
        yield ins.Reshape(made, joined, loc=stmt.loc)
        yield replace(stmt, x=made, region=self._region(stmt.region, block))

    def _region(self, region: Region, block: RowBlock) -> Region:
        """All blocks of a turn."""
        old = region.axes[block.number]
        whole = replace(old, start=self._var, size=self._count * self._step, step=1, checked=False)
        axes = (*region.axes[: block.number], whole, *region.axes[block.number + 1 :])
        return replace(region, axes=axes)
