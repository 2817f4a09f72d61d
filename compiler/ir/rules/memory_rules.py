"""What each instruction that touches memory asks: axes, roles, shapes and dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import Indexed, ids_shape, indexed_shape
from dslc.compiler.ir.rules.tile_rules import Fail, operation_dtype, same, shape_of
from dslc.compiler.ir.values import Place, Region, Role, Value


def _region(region: Region, gathered: tuple[int, ...] = ()) -> Fail | None:
    if len(region.axes) != region.memory.rank:
        message = f"@{region.memory.name} has {region.memory.rank} axes, not {len(region.axes)}"
        return "DSL0415", message
    for axis in region.axes:
        if axis.size < 1 or axis.step < 1:
            return "DSL0415", "the size and the step of a slice are at least 1"
        if axis.dropped and axis.size != 1:
            return "DSL0415", f"a dropped axis has size 1, not {axis.size}"
        if axis.limit is not None and (axis.dropped or not 0 <= axis.limit < axis.size):
            return "DSL0415", f"padding from {axis.limit} on is no part of {axis.size} elements"
        if axis.end is not None and (axis.dropped or not axis.checked):
            return "DSL0415", "a slice with an end is checked, and no axis that is dropped"
        if axis.end is not None and axis.end.dtype != INDEX:
            return "DSL0413", f"the end of a slice is {axis.end.dtype}, not index"
    for number in gathered:
        if not 0 <= number < len(region.axes):
            return "DSL0416", f"axis {number} is none of the {len(region.axes)} axes"
        if region.axes[number].size != 1:
            return "DSL0415", "the gathered axis has a placeholder of size 1"
    return None


def _held(region: Region, shape: tuple[int, ...], tile: Value) -> Fail | None:
    """Whether the region, of that shape, and the tile agree."""
    if tile.type.shape != shape:
        return "DSL0412", f"the region has shape {list(shape)}, the tile {shape_of(tile)}"
    if tile.type.dtype != region.memory.dtype:
        name = region.memory.name
        return "DSL0413", f"@{name} is {region.memory.dtype}, the tile {tile.type.dtype}"
    return None


def _written(region: Region) -> Fail | None:
    if region.memory.role is Role.IN:
        return "DSL0415", f"@{region.memory.name} is only read: its role is `in`"
    return _region(region)


def _read(region: Region) -> Fail | None:
    if region.memory.role is Role.OUT:
        return "DSL0415", f"@{region.memory.name} is only written: its role is `out`"
    return _region(region)


def reaches_others(stmt: ins.Instruction) -> bool:
    """Whether it is about other turns of a cluster."""
    match stmt:
        case ins.Load(rank=rank):
            return rank is not None
        case ins.ClusterReduce():
            return True
        case (
            ins.CopyAsync(multicast=found) | ins.Arrive(everywhere=found) | ins.Sync(cluster=found)
        ):
            return found
        case _:
            return False


def _cluster_reduce(stmt: ins.ClusterReduce) -> Fail | None:
    if stmt.op not in ("add", "min", "max") or stmt.rank.dtype != INDEX:
        return "DSL0416", "turns of a cluster add, or take the least or greatest, by an index"
    return operation_dtype(stmt.op, stmt.x.type.dtype) or same(stmt.out, stmt.x)


def _load(stmt: ins.Load) -> Fail | None:
    if stmt.rank is not None:
        if stmt.region.memory.place is not Place.SHARED or stmt.out.type.layout is None:
            return "DSL0415", "only shared memory of another block is read, and to registers"
        if stmt.rank.dtype != INDEX:
            return "DSL0413", f"the rank is {stmt.rank.dtype}, not index"
    if stmt.other is not None and stmt.other.dtype != stmt.out.type.dtype:
        return "DSL0413", f"`other` is {stmt.other.dtype}, the tile {stmt.out.type.dtype}"
    failed = _read(stmt.region) or _held(stmt.region, stmt.region.shape, stmt.out)
    return failed or _mask(stmt.where, stmt.out)


def _mask(where: Value | None, tile: Value) -> Fail | None:
    if where is None:
        return None
    if where.type.dtype != BOOL:
        return "DSL0413", f"a mask is bool, not {where.type.dtype}"
    if where.type.shape != tile.type.shape:
        return "DSL0412", f"the mask has shape {shape_of(where)}, the tile {shape_of(tile)}"
    return None


def _store(stmt: ins.Store) -> Fail | None:
    failed = _written(stmt.region) or _held(stmt.region, stmt.region.shape, stmt.x)
    return failed or _mask(stmt.where, stmt.x)


def _atomic_rmw(stmt: ins.AtomicRmw) -> Fail | None:
    if stmt.out is not None and stmt.region.memory.role is Role.OUT:
        return "DSL0415", f"@{stmt.region.memory.name} is only written: its role is `out`"
    if stmt.op not in ins.ATOMIC_OPS:
        return "DSL0416", f"there is no atomic {stmt.op}"
    if (stmt.expected is not None) != (stmt.op == "cas"):
        return "DSL0416", "cas, and nothing else, compares with what is expected"
    arithmetic = None if stmt.op in ("exchange", "cas") else stmt.op
    failed = arithmetic and operation_dtype(arithmetic, stmt.x.type.dtype)
    failed = failed or _written(stmt.region) or _indexed(stmt, stmt.x)
    others = [v for v in (stmt.out, stmt.expected) if v is not None]
    return failed or next((f for v in others if (f := same(v, stmt.x))), None)


def _indexed(stmt: Indexed, tile: Value) -> Fail | None:
    """Whether ids, axes, region and tile agree."""
    if len(stmt.ids) != len(stmt.axes) or tuple(sorted(set(stmt.axes))) != stmt.axes:
        return "DSL0416", "each tile of ids has an axis of its own, in the memory's order"
    shape = ids_shape(stmt)
    for ids in stmt.ids:
        if not ids.type.dtype.is_integer:
            return "DSL0413", f"ids are integers, not {ids.type.dtype}"
        if ids.type.shape != shape:
            return "DSL0412", f"ids have one shape: {list(shape)} is not {shape_of(ids)}"
    failed = _region(stmt.region, stmt.axes)
    return failed or _held(stmt.region, indexed_shape(stmt.region, stmt.axes, shape), tile)


def _gather(stmt: ins.Gather) -> Fail | None:
    return _read(stmt.region) or _some_ids(stmt) or _indexed(stmt, stmt.out)


def _scatter(stmt: ins.Scatter) -> Fail | None:
    return _written(stmt.region) or _some_ids(stmt) or _indexed(stmt, stmt.x)


def _some_ids(stmt: ins.Gather | ins.Scatter) -> Fail | None:
    return None if stmt.ids else ("DSL0416", "no tile of ids chooses: that is a load or a store")


def _copy_async(stmt: ins.CopyAsync) -> Fail | None:
    if failed := _written(stmt.dst) or _read(stmt.src):
        return failed
    if stmt.dst.shape != stmt.src.shape:
        return "DSL0412", f"{list(stmt.src.shape)} is copied to {list(stmt.dst.shape)}"
    if stmt.dst.memory.dtype != stmt.src.memory.dtype:
        return "DSL0413", f"{stmt.src.memory.dtype} is copied to {stmt.dst.memory.dtype}"
    if stmt.barrier is not None and (failed := _barrier(stmt.barrier)):
        return failed
    if stmt.multicast and (stmt.barrier is None or stmt.dst.memory.place is not Place.SHARED):
        return "DSL0415", "what goes to every block of a cluster is copied in bulk to shared memory"
    if stmt.layout is not None and stmt.layout.shape != (stmt.dst.shape or (1,)):
        return "DSL0414", f"the layout {stmt.layout} does not have the shape {list(stmt.dst.shape)}"
    return None


def _barrier(region: Region) -> Fail | None:
    if region.memory.dtype.name != "u64" or region.memory.place is not Place.SHARED:
        return "DSL0415", f"@{region.memory.name} is no memory of barriers: those are shared u64"
    return _region(region)


def _one_barrier(stmt: ins.Arrive | ins.AwaitPhase) -> Fail | None:
    if math.prod(stmt.region.shape) != 1:
        return "DSL0412", f"a barrier is one element, not {list(stmt.region.shape)}"
    if isinstance(stmt, ins.AwaitPhase) and stmt.parity.dtype != INDEX:
        return "DSL0413", f"the parity is {stmt.parity.dtype}, not index"
    if isinstance(stmt, ins.Arrive) and stmt.bytes < 0:
        return "DSL0416", "less than no bytes cannot be announced"
    return _barrier(stmt.region)


def _init_barriers(stmt: ins.InitBarriers) -> Fail | None:
    if stmt.arrivals < 1:
        return "DSL0416", "a phase ends after at least one arrival"
    return _barrier(stmt.region)


def _wait_group(stmt: ins.WaitGroup | ins.WaitDots) -> Fail | None:
    return ("DSL0416", "less than no group cannot be pending") if stmt.pending < 0 else None


def _memory_barrier(stmt: ins.MemoryBarrier) -> Fail | None:
    return ("DSL0416", "a warp has at least one thread") if stmt.warp < 0 else None


def _prefetch(stmt: ins.Prefetch) -> Fail | None:
    if stmt.region.memory.role is Role.BUFFER:
        return "DSL0415", f"@{stmt.region.memory.name} is on the chip already"
    return _region(stmt.region)


def _semaphore(stmt: ins.SemaphoreWait | ins.SemaphoreRelease) -> Fail | None:
    region = stmt.region
    if failed := _written(region) or _read(region):
        return failed
    if math.prod(region.shape) != 1:
        return "DSL0412", f"a semaphore is one element, not {list(region.shape)}"
    if stmt.value.dtype != region.memory.dtype:
        return "DSL0413", f"the value is {stmt.value.dtype}, the semaphore {region.memory.dtype}"
    return None


MEMORY_RULES: dict[type, Callable[..., Fail | None]] = {
    ins.ClusterReduce: _cluster_reduce,
    ins.Load: _load,
    ins.Store: _store,
    ins.AtomicRmw: _atomic_rmw,
    ins.Gather: _gather,
    ins.Scatter: _scatter,
    ins.CopyAsync: _copy_async,
    ins.WaitGroup: _wait_group,
    ins.WaitDots: _wait_group,
    ins.MemoryBarrier: _memory_barrier,
    ins.InitBarriers: _init_barriers,
    ins.Arrive: _one_barrier,
    ins.AwaitPhase: _one_barrier,
    ins.SemaphoreWait: _semaphore,
    ins.SemaphoreRelease: _semaphore,
    ins.Prefetch: _prefetch,
}
