"""Consecutive turns of the grid become one, until its tiles use the partitions and long rows.

Before (tests/ir/join-turns/example.tir), each turn uses 4 of 128 partitions:

    grid m in range(0, 256, 4)
    %row = load @x[m : +4, 0 : +64] : f32[4, 64]
    %e = reduce max %row, axis=1, keepdims : f32[4, 1]
    ...
    store @y[m : +4, 0 : +64], %e_2

After:

    grid m in range(0, 256, 128)
    %row = load @x[m : +128, 0 : +64] : f32[128, 64]
    %e = reduce max %row, axis=1, keepdims : f32[128, 1]
    ...
    store @y[m : +128, 0 : +64], %e_2

A turn may grow where its slices along a counter follow on those of the turn before, and no element of
the tiles along them bears on one at another coordinate (`axis_extents`): every number is what it was.
Turns of a GPU are small since many run at once; a NeuronCore runs one after another, and an
instruction takes as long for one partition as for 128. A row of a transfer shorter than 2 KiB costs
more than its bytes. A product of matrices grows to 512 rows and columns, so that each operand is
loaded a fourth as often as for the 128 that a GPU has room for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import ClassVar

from dslc.compiler.analysis.axis_extents import Axis, Classes, classes_of
from dslc.compiler.ir import GridAxis, Kernel, Memory, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import expressions, operands, regions, results, walk
from dslc.compiler.passes.padding.resized import Resized
from dslc.compiler.passes.trainium.capacity import sbuf_peak, usable
from dslc.compiler.passes.trainium.placement import PARTITIONS
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import MOVING, engines_of

ROW = 4096
"""Bytes of a row at which Neuron's documents of DMA aim: at 2 KiB a row still costs a quarter more."""

KNOWN = (
    *ins.ELEMENTWISE, ins.Full, ins.Undefined, ins.Arange, ins.Load, ins.Store, ins.Broadcast,
    ins.Transpose, ins.Reshape, ins.Reduce, ins.Extract, ins.Concat, ins.Let, ins.For,
)  # fmt: skip
"""Statements of turns that are joined, or put in stages, in kernels without products."""


@dataclass(frozen=True, slots=True)
class JoinTurns:
    """Grows turns until their tiles use the partitions, or half of PSUM."""

    target: Target
    # Passes of the list: what they are stands there, and an address is no part of a cache's key.
    place: Callable[[Kernel], Kernel] = field(repr=False)
    name: ClassVar[str] = "join-turns"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with as many turns joined as use the machine."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        if not all(isinstance(s, KNOWN) or _is_product(s) for s in walk(kernel.body)):
            return kernel
        for number in reversed(range(len(kernel.grid))):  # the rows of transfers first
            kernel = self._grown(kernel, number)
        return kernel

    def _grown(self, kernel: Kernel, number: int) -> Kernel:
        """The kernel with turns along one axis of the grid joined, as many as fit."""
        axis = kernel.grid[number]
        bounds = constants(axis)
        if bounds is None:
            return kernel
        start, stop, step = bounds
        members = _members(kernel, axis, step)
        if members is None:
            return kernel
        turns = -(-(stop - start) // step)
        for count in _counts(min(turns, _wanted(kernel, axis) // step)):
            if not _ends_alike(kernel, axis, start, stop, count * step):
                continue
            body = Resized(dict.fromkeys(members, count * step)).body(kernel.body)
            grown = replace(axis, step=ex.Const(count * step, axis.step.dtype))
            grid = (*kernel.grid[:number], grown, *kernel.grid[number + 1 :])
            found = replace(kernel, body=tuple(body), grid=grid)
            if self._fits(found, beside=_is_last(kernel, axis)):
                return found
        return kernel

    def _fits(self, kernel: Kernel, *, beside: bool) -> bool:
        """Whether the tiles of a turn find room, and those of the next one `beside` them.

        Rows along the partitions take no more of each, so that fewer would not help.
        """
        room = usable(engines_of(self.target)) // (2 if beside else 1)
        made = [v for s in walk(kernel.body) for v in results(s) if isinstance(v, Value)]
        products = any(isinstance(s, ins.Dot) for s in walk(kernel.body))  # lie as they want
        if not products and sum(_least_bytes(v) for v in made) <= room:
            return True
        return sbuf_peak(self.place(kernel)).bytes <= room


def _is_product(stmt: Stmt) -> bool:
    """Whether a product is of matrices of floats, without scales."""
    if not isinstance(stmt, ins.Dot) or stmt.scale_a is not None:
        return False
    return stmt.out.type.rank == 2 and stmt.a.type.dtype.is_float


def constants(axis: GridAxis) -> tuple[int, int, int] | None:
    """Start, stop and step, where they are numbers."""
    found = [constant(x) for x in (axis.start, axis.stop, axis.step)]
    start, stop, step = (None if n is None else int(n) for n in found)
    if start is None or stop is None or not step or stop <= start:
        return None
    return start, stop, step


def _counts(most: int) -> Iterator[int]:
    """How many turns may become one, the most first."""
    count = 1 << most.bit_length() >> 1
    if count < most:
        yield most
    while count > 1:
        yield count
        count //= 2


def _along(kernel: Kernel, axis: GridAxis) -> Iterator[tuple[Stmt, Value | None, int, int]]:
    """The slices that begin at a counter: their statements, tiles, axes of memory and of the tile."""
    for stmt in walk(kernel.body):
        for region in regions(stmt):
            tile = stmt.out if isinstance(stmt, ins.Load) else getattr(stmt, "x", None)
            place = -1
            for number, a in enumerate(region.axes):
                place += not a.dropped
                if axis.var in ex.free_vars(a.start):
                    yield stmt, tile, number, place


def _members(kernel: Kernel, axis: GridAxis, step: int) -> list[Axis] | None:
    """The axes of tiles that are along the counter; None where turns cannot be joined."""
    seeds: list[Axis] = []
    followed: set[int] = set()  # loads and stores, by identity: one tile may be of several
    for stmt, tile, number, place in _along(kernel, axis):
        (region,) = regions(stmt)
        a = region.axes[number]
        rest = simplify(ex.Binary("sub", a.start, axis.var, axis.start.dtype))
        follows = a.size == step and a.step == 1 and a.limit is None and not a.dropped
        if not follows or axis.var in ex.free_vars(rest) or not isinstance(tile, Value):
            return None
        seeds.append((tile, place))
        followed.add(id(stmt))
    if not seeds or any(_steers(s, axis) for s in walk(kernel.body)):
        return None
    classes = classes_of(kernel)
    members = list(dict.fromkeys(m for seed in seeds for m in classes.members(seed)))
    if len({v for v, _ in members}) < len(members) or any(classes.is_tied(m) for m in members):
        return None
    if any(v.type.shape[k] != step or v.type.layout is not None for v, k in members):
        return None
    return members if _made_along(kernel, dict(members), followed, classes) else None


def _steers(stmt: Stmt, axis: GridAxis) -> bool:
    """Whether a statement computes with the counter: then joined turns would share the first one's."""
    starts = [a.start for region in regions(stmt) for a in region.axes]
    return any(axis.var in ex.free_vars(x) for x in expressions(stmt) if x not in starts)


def _made_along(
    kernel: Kernel, members: dict[Value, int], followed: set[int], classes: Classes
) -> bool:
    """Whether all that comes from memory comes by the counter, and all stores go by it."""
    for stmt in walk(kernel.body):
        match stmt:
            case ins.Load(out=tile) | ins.Store(x=tile):
                if (tile in members or isinstance(stmt, ins.Store)) and id(stmt) not in followed:
                    return False
            case ins.Arange(out=tile) if tile in members:
                return False
            case ins.Reshape(out=out, x=x) if out in members or x in members:
                both = (out in members) == (x in members)
                if not both or classes.find((out, members[out])) != classes.find((x, members[x])):
                    return False
            case ins.Broadcast(out=out, x=x) if x in members:
                if out not in members or members[out] - out.type.rank != members[x] - x.type.rank:
                    return False
            case _:
                tiles = [v for v in (*operands(stmt), *results(stmt)) if isinstance(v, Value)]
                alone = isinstance(stmt, ins.ELEMENTWISE) and any(v in members for v in tiles)
                if alone and not all(v in members for v in tiles if v.type.rank):
                    return False
    return True


def _is_last(kernel: Kernel, axis: GridAxis) -> bool:
    """Whether a slice along the counter is of the last axis of a memory: of columns."""
    return any(n == len(regions(s)[0].axes) - 1 for s, _, n, _ in _along(kernel, axis))


def _wanted(kernel: Kernel, axis: GridAxis) -> int:
    """Elements along the counter that use the partitions, or rows of a transfer; of a vector both.

    A product is MOVING columns at a time. So many rows of it take half of PSUM, the other half is for
    the sums that follow.
    """
    if any(isinstance(s, ins.Dot) for s in walk(kernel.body)):
        return MOVING
    found = []
    for stmt, tile, number, _ in _along(kernel, axis):
        (region,) = regions(stmt)
        assert isinstance(tile, Value)
        row = ROW * 8 // tile.type.dtype.bits
        last = number == len(region.axes) - 1
        alone = prod(tile.type.shape) == region.axes[number].size
        found.append(PARTITIONS * row if last and alone else row if last else PARTITIONS)
    return min(found)


def _ends_alike(kernel: Kernel, axis: GridAxis, start: int, stop: int, step: int) -> bool:
    """Whether the last turn, if it goes further, goes out of every tensor: nothing is kept there."""
    if (stop - start) % step == 0:
        return True
    for stmt, _, number, _ in _along(kernel, axis):
        (region,) = regions(stmt)
        memory: Memory = region.memory
        a = region.axes[number]
        rest = simplify(ex.Binary("sub", a.start, axis.var, axis.start.dtype))
        left = constant(simplify(ex.Binary("sub", memory.shape[number], rest, rest.dtype)))
        if left is None or int(left) > stop or not a.checked:
            return False
    return True


def _least_bytes(value: Value) -> int:
    """Bytes of each partition where all of them share a tile."""
    return -(-prod(value.type.shape) * max(8, value.type.dtype.bits) // 8 // PARTITIONS)
