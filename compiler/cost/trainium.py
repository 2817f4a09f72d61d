"""How long a kernel keeps the engines of a NeuronCore busy: the model by which its blocks are chosen.

The tensor engine needs max(64, N) cycles for a product of N moving columns and some to load the
stationary ones. A byte of HBM traffic takes the DMA engines' time, a contiguous row some more, a
transfer its queue. For y = x u v in strips of B_M rows this is NeuronMM's trade-off (Equations 10 and
11, which hold together where the strip of x u is summed on the chip over blocks of K): traffic of

    M K + M N + M / B_M (K R + R N)      elements

against 2 M R (K + N) operations, so that the intensity grows with B_M until the strip no longer fits.
What stays on the chip through a loop is read once (`passes.trainium.residents`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from dslc.compiler.ir import Kernel, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import regions, tile_of, walk
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.layouts.layout_regions import TRIPS, Site, find_sites
from dslc.compiler.passes.trainium.capacity import (
    load_bytes,
    peak_within,
    sbuf_peak,
    usable,
    widest_column_block,
)
from dslc.compiler.passes.trainium.placement import chunks, counts, placement_of
from dslc.compiler.passes.trainium.placement_costs import TRANSPOSING, transposed
from dslc.compiler.passes.trainium.residents import residents
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import MOVING, PARTITIONS, PSUM_BANKS, STACK, Engines, engines_of

_TRANSFERS = 2  # among the figures of a statement
_LATENCY = 1300.0  # of a transfer, ns
_ELEMENTS = 1024  # that a loop goes through whose end only the machine knows
_EXPOSED = 0.05  # of the work of engines that are not the busiest
_VIEWS = (ins.Broadcast, ins.Transpose, ins.Reshape, ins.Extract, ins.Full, ins.Let, ins.Alloc)


@dataclass(frozen=True, slots=True)
class Busy:
    """Nanoseconds of a core's engines, and the bytes that pass between it and HBM.

    `waiting` is how much longer the vector engine takes than the tensor engine in loops where it does:
    what other loops leave free of it is of no use there. `filling` passes before the first product has
    its operands, while the first turn loads what stays for the others or has no room for what comes
    next, and after the last product until its result is stored.
    """

    tensor: float
    vector: float
    transfers: float
    queue: float
    bytes: float
    operations: float
    filling: float = 0.0
    waiting: float = 0.0

    @property
    def nanoseconds(self) -> float:
        """The engine that is busy longest, and a little of the others: not all of it overlaps."""
        parts = (self.tensor + self.waiting, self.vector, self.transfers, self.queue)
        return max(parts) + _EXPOSED * (sum(parts) - max(parts)) + self.filling

    @property
    def intensity(self) -> float:
        """Operations for each byte of traffic."""
        return self.operations / self.bytes if self.bytes else 0.0


def busy(kernel: Kernel, target: Target) -> Busy:
    """The engines over all turns of a kernel after the passes of a NeuronCore, its dims known."""
    engines = engines_of(target)
    turns = prod(_trip_count(a.start, a.stop, a.step) for a in kernel.grid)
    shared: dict[ins.Stmt, float] = {}
    outer = kernel.grid[0] if kernel.grid else None
    early: set[ins.Stmt] = set()  # loaded in the first iteration of the outermost loop
    for kept in residents(kernel, engines, frozenset()):
        if outer is not None and any(x.var is outer.var for x in kept.firsts):
            early.update(kept.chain)
        repeats = prod(x.iterations or 1 for x in kept.firsts)
        for stmt in kept.chain:
            shared[stmt] = max(shared.get(stmt, 1.0), float(repeats))
    sums = [0.0] * 6
    ahead: defaultdict[ins.Stmt | None, float] = defaultdict(float)  # of the vector engine, by loop
    of_outer = _trip_count(outer.start, outer.stop, outer.step) if outer is not None else 1
    strip, turn = _Bound(of_outer), _Bound(turns)
    sites = [replace(s, weight=s.weight * _unknown_trips(s)) for s in find_sites(kernel)]
    for site in sites:
        weight = site.weight * turns / shared.get(site.stmt, 1.0)
        parts = _of(engines, site)
        ahead[site.loops[0] if site.loops else None] += weight * (parts[1] - parts[0])
        for i, part in enumerate(parts):
            sums[i] += weight * part
            strip.add(i, weight * part / (1 if site.stmt in early else of_outer))
            turn.add(i, site.weight * part)
    uneven = max(x.beyond(sums[0]) for x in (strip, turn))
    tensor, vector, transfers, queue, moved, operations = sums
    filling = _filling(engines, sites) + uneven + _crowding(kernel, engines, sites, shared, turns)
    waiting = sum(max(0.0, more) for loop, more in ahead.items() if loop is not None)
    return Busy(tensor, vector, transfers, queue, moved, operations, filling, waiting)


@dataclass(slots=True)
class _Bound:
    """What the first of so many turns transfers, with all that stays for those after it."""

    turns: int
    transfers: float = 0.0
    queue: float = 0.0

    def add(self, which: int, time: float) -> None:
        if which == _TRANSFERS:
            self.transfers += time
        elif which == _TRANSFERS + 1:
            self.queue += time

    def beyond(self, tensor: float) -> float:
        """How much longer that takes than the products of a turn."""
        if self.turns < 2:
            return 0.0
        return max(0.0, max(self.transfers, self.queue) - tensor / self.turns)


def _unknown_trips(site: Site) -> float:
    """By how much loops whose ends only the machine knows run more often than layouts take them to.

    They go through as many elements, whatever the block of an iteration: small ones run more often.
    What is left behind the last whole block of a tensor is an iteration more, with text of its own.
    """
    found = 1.0
    for loop in site.loops:
        if isinstance(loop, ins.For) and range_of(loop.start, loop.stop, loop.step) is None:
            step = constant(loop.step)
            if step:
                trips = max(1.0, _ELEMENTS / abs(int(step))) + _leaves_a_rest(loop, abs(int(step)))
                found *= trips / TRIPS
    return found


def _leaves_a_rest(loop: ins.For, step: int) -> bool:
    """Whether a slice along the counter may reach out of its tensor."""
    for stmt in walk(loop.body):
        for region in regions(stmt):
            for axis, size in zip(region.axes, region.memory.shape, strict=True):
                extent = constant(size)
                along = axis.checked and loop.var in ex.free_vars(axis.start)
                if along and extent is not None and int(extent) % step:
                    return True
    return False


def _trip_count(start: ex.Expr, stop: ex.Expr, step: ex.Expr) -> int:
    first, end, by = constant(start), constant(stop), constant(step)
    if first is None or end is None or not by:
        return 1
    return max(0, -int((first - end) // by))


def _crowding(
    kernel: Kernel,
    engines: Engines,
    sites: Sequence[Site],
    shared: Mapping[ins.Stmt, float],
    turns: int,
) -> float:
    """What products wait for loads that have no room beside the tiles in use, and begin late.

    Room comes as the tile before is used up, in the last pass of the last product that reads it: what
    takes longer than that is waited for.
    """
    room = usable(engines) - sum(r.bytes for r in residents(kernel, engines, frozenset()))
    block = widest_column_block(kernel, room)
    sizes, total = load_bytes(kernel, block), 0.0
    by_loop: defaultdict[ins.Stmt | None, list[Site]] = defaultdict(list)
    for site in sites:
        by_loop[site.loop].append(site)
    for loop, inside in by_loop.items():
        if isinstance(loop, ins.For):
            peak = peak_within(kernel, loop, block)
        else:
            peak = sbuf_peak(kernel, block).bytes
        need = sum(sizes[s.stmt] for s in inside if isinstance(s.stmt, ins.Load))
        if need <= room - peak:
            continue
        late = 1.0 - max(0, room - peak) / need
        for site in inside:
            if isinstance(site.stmt, ins.Load):
                moved = _transfer(engines, site.stmt.out, site.stmt.region)[_TRANSFERS]
                waited = max(0.0, moved * late - _freeing(engines, inside, site.stmt.out))
                total += site.weight * turns / shared.get(site.stmt, 1.0) * waited
    return total


def _freeing(engines: Engines, sites: Sequence[Site], tile: Value) -> float:
    """For how long room for the next tile comes while products of a loop's iteration still run.

    That is the last pass of the last that reads the tile, as many sums as PSUM has banks; and all of
    them where something else reads it, which is done before them.
    """
    products = [(s.stmt, _of(engines, s)[0]) for s in sites if isinstance(s.stmt, ins.Dot)]
    for stmt, time in reversed(products):
        if tile in (stmt.a, stmt.b):
            place = placement_of(stmt.out.type.layout) if stmt.out.type.layout else None
            columns = 1 if place is None else counts(place, stmt.out.type.shape)[1]
            return time / max(1.0, _pieces(stmt.out) * -(-columns // MOVING) / PSUM_BANKS)
    return sum(time for _, time in products)


def _filling(engines: Engines, sites: Sequence[Site]) -> float:
    """What the first product waits for, and how long its last piece takes to be stored.

    Loads come one after another; of the largest one a chunk is enough to begin with.
    """
    loads: list[tuple[float, int]] = []
    for site in sites:
        match site.stmt:
            case ins.Load(out=out, region=region):
                _, _, moved, queue, _, _ = _transfer(engines, out, region)
                loads.append((moved + queue, _pieces(out)))
            case ins.Dot():
                break
    stored = [
        (_transfer(engines, s.stmt.x, s.stmt.region), _pieces(s.stmt.x))
        for s in sites
        if isinstance(s.stmt, ins.Store)
    ]
    tail = sum(sum(cost[2:4]) / pieces for cost, pieces in stored[-1:])
    loads.sort()
    first = sum(cost for cost, _ in loads[:-1]) + sum(cost / pieces for cost, pieces in loads[-1:])
    return first + tail + 2 * _LATENCY


def _pieces(value: Value) -> int:
    place = None if value.type.layout is None else placement_of(value.type.layout)
    return 1 if place is None else chunks(place, value.type.shape)


def _of(engines: Engines, site: Site) -> tuple[float, float, float, float, float, float]:
    """Tensor, vector, transfers, queue, bytes and operations of one statement."""
    match site.stmt:
        case ins.Dot(a=a, out=out, acc=acc):
            return _product(engines, a, out, adds=acc is not None)
        case ins.Load(out=out, region=region):
            return _transfer(engines, out, region)
        case ins.Store(x=x, region=region) | ins.AtomicRmw(x=x, region=region):
            return _transfer(engines, x, region)
        case ins.ConvertLayout(out=out):
            blocks = prod(-(-n // PARTITIONS) for n in out.type.shape)
            tensor = blocks * (PARTITIONS + engines.load) / engines.tensor
            return tensor, blocks * PARTITIONS / engines.vector, 0.0, 0.0, 0.0, 0.0
        case stmt if isinstance(stmt, _VIEWS):
            return (0.0,) * 6
    tile = tile_of(site.stmt)
    place = placement_of(tile.type.layout) if tile is not None and tile.type.layout else None
    if tile is None or place is None:
        return (0.0,) * 6
    each = counts(place, tile.type.shape)[1]
    vector = chunks(place, tile.type.shape) * max(64, each) / engines.vector
    return 0.0, vector, 0.0, 0.0, 0.0, 0.0


def _product(
    engines: Engines, a: Value, out: Value, *, adds: bool
) -> tuple[float, float, float, float, float, float]:
    place = placement_of(out.type.layout) if out.type.layout else None
    assert place is not None
    batch, k = prod(out.type.shape[:-2]), a.type.shape[-1]
    columns = counts(place, out.type.shape)[1] // max(1, batch)
    pieces = batch * chunks(place, out.type.shape)
    steps = -(-k // PARTITIONS)
    passes = 4 if a.type.dtype.bits == 32 else 1
    cycles = max(64, columns) + -(-columns // MOVING) * engines.load
    tensor = pieces * steps * cycles * passes / engines.tensor
    # Out of PSUM, where sums of several iterations stay if half of it is enough.
    stays = adds and columns <= MOVING and pieces <= PSUM_BANKS // 2
    vector = 0.0 if stays else pieces * columns / engines.vector
    return tensor, vector, 0.0, 0.0, 0.0, 2.0 * prod(out.type.shape) * k


def _transfer(
    engines: Engines, value: Value, region: Region
) -> tuple[float, float, float, float, float, float]:
    place = placement_of(value.type.layout) if value.type.layout else None
    item = max(1, value.type.dtype.bits // 8)
    size = float(prod(region.shape) * item)
    last = region.shape[-1] if region.shape else 1
    rows = size / (last * item)
    number = 1 if place is None else chunks(place, value.type.shape)
    plain = place is not None and place.axis == 0 and value.type.rank == 2
    if plain and not any(a.checked for a in region.axes) and number % min(number, STACK) == 0:
        number = -(-number // STACK)  # of an operand
    if place is not None and place.axis is None:
        size, rows = size * PARTITIONS, rows * PARTITIONS
    moved = size / engines.dma + rows * engines.row
    if transposed(engines, value, region):
        moved = size / (engines.dma * TRANSPOSING)
    return 0.0, 0.0, moved, number * engines.issue, size, 0.0
