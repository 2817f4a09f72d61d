"""The instructions of Tile IR that touch memories: accesses, explicit copies, synchronisation."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.expr import Expr
from dslc.compiler.ir.located import loc_field as _loc
from dslc.compiler.ir.values import Memory, Region, Value

if TYPE_CHECKING:
    from dslc.compiler.layout import Layout

# Memory

ATOMIC_OPS = ("add", "max", "min", "exchange", "cas")


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """An on-chip memory begins to live here; its elements are undefined."""

    memory: Memory
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A tile from memory; out of bounds (on checked axes) gives `other`, or 0.

    So do the elements for which `where`, bools of the tile's shape, does not hold: they are not read.
    With a `rank` it is read from the shared memory of the block of that number in the cluster.
    """

    out: Value
    region: Region
    other: Expr | None = None
    rank: Expr | None = None
    where: Value | None = None
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """A tile to memory; out of bounds (on checked axes) is dropped.

    So are the elements for which `where`, bools of the tile's shape, does not hold.
    """

    region: Region
    x: Value
    where: Value | None = None
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AtomicRmw:
    """region = op(region, x), each element atomically; `out`, if any, is what stood there before.

    `op` is one of ATOMIC_OPS: add, max and min are those of Binary, `exchange` is x, and `cas` is x
    where the element equals `expected`. With `ids` it takes the elements that a Scatter writes, and
    equal ids do so one after another. With an `out`, which is 0 out of bounds, it also publishes the
    turn's earlier writes and sees what others published so.
    """

    op: str
    region: Region
    x: Value
    ids: tuple[Value, ...] = ()
    axes: tuple[int, ...] = ()
    expected: Value | None = None
    out: Value | None = None
    loc: Loc | None = _loc()

    @property
    def is_counter(self) -> bool:
        """Whether it changes one integer: it comes after all that the turn's threads did before."""
        return self.region.memory.dtype.is_integer and prod(self.x.type.shape) == 1


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """Elements by index: along each of `axes` of the memory, ids[...] + start of that AxisSlice.

    The region's slices on these axes are placeholders of size 1. The ids, one for each of `axes`, have
    one shape, which stands in out's where the first of `axes` does. Ids out of range read 0.
    """

    out: Value
    region: Region
    ids: tuple[Value, ...]
    axes: tuple[int, ...]
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """The inverse of Gather: ids out of range are dropped; equal ids in one scatter are a race."""

    region: Region
    x: Value
    ids: tuple[Value, ...]
    axes: tuple[int, ...]
    loc: Loc | None = _loc()


# Explicit copies and synchronisation


@dataclass(frozen=True, slots=True, eq=False)
class CopyAsync:
    """Start a copy between memories; it has landed only after the wait for its group.

    `layout`, of the regions' shape, says which thread copies which element, once decided: the first of
    those that hold it. With a `barrier`, one element, the copy is in bulk: a unit of the machine makes
    it, and it has landed when the barrier's phase ends; it belongs to no group. A `multicast` goes to
    the same place in every block of the cluster, and each block's own barrier is told of its bytes.
    """

    dst: Region
    src: Region
    layout: Layout | None = None
    barrier: Region | None = None
    multicast: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class CommitGroup:
    """The copies started since the last commit form a group."""

    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class WaitGroup:
    """Wait until at most `pending` groups are under way."""

    pending: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class WaitDots:
    """Wait until at most `pending` asynchronous Dots are under way."""

    pending: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AwaitPartner:
    """Wait until the other half of the turn's threads has handed over once more than was waited for.

    The halves are two warpgroups that alternate at the matrix unit: one multiplies while the other
    computes. Only time depends on it, no value. `alone`: the second half alone waits.
    """

    alone: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class HandOver:
    """The other half, which waits as often, may go on; `alone`: the first half alone hands over."""

    alone: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Sync:
    """A barrier of all threads of the turn; of a `cluster`, of all of its turns.

    Producer warps take part in none of them.
    """

    cluster: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class MemoryBarrier:
    """What the turn's threads did to tensors before it, all of them see after it.

    With a `warp`, so many threads from a multiple of that on are a group that sees what its own did.
    Producer warps take no part in it.
    """

    warp: int = 0
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class InitBarriers:
    """The elements of the region become barriers whose phases end after `arrivals` arrivals each.

    A barrier counts its phases from 0. A phase ends when all have arrived and the bytes that they
    announced have been copied; then the next begins.
    """

    region: Region
    arrivals: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Arrive:
    """One arrival at a barrier; its phase ends only after `bytes` more bytes of bulk copies.

    One thread arrives for all; with `together`, it is an arrival once every warp has come to it. With
    `everywhere` it is one at the barrier of that place in every block of the cluster.
    """

    region: Region
    bytes: int = 0
    together: bool = False
    everywhere: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AwaitPhase:
    """Wait until the barrier's latest phase of that parity (0 or 1) has ended; it may have by now."""

    region: Region
    parity: Expr
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class SemaphoreWait:
    """Spin until the one element of the region equals `value`, then see what was released."""

    region: Region
    value: Expr
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class SemaphoreRelease:
    """Publish earlier writes, then set the one element of the region to `value`."""

    region: Region
    value: Expr
    loc: Loc | None = _loc()


# Launches


@dataclass(frozen=True, slots=True, eq=False)
class LaunchDependents:
    """The next launch may begin; it waits at its AwaitLaunches until this one has ended."""

    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AwaitLaunches:
    """Wait until all launches before have ended, and see what they wrote.

    It stands once, right in a kernel's body: before it no statement touches a tensor but to prefetch.
    """

    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Prefetch:
    """Bring a region of a tensor to the last cache before memory; nothing else can tell.

    That cache is one for all units: what others write later is seen by whoever reads later.
    """

    region: Region
    loc: Loc | None = _loc()
