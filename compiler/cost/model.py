"""Blocks on multiprocessors: from the work of one block to the time of a launch.

As many blocks as registers, shared memory and warps allow run on a multiprocessor at once. They share
its units, whose needs overlap (`statement_work.overlapped`), while each needs its own path: the
latencies of memory and barriers that nothing hides. A wave takes the longer of both; full waves and the
last, partly filled one are added up. By Little's law a multiprocessor gets no more from memory than its
blocks have under way: that is in the waits of the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, prod

from dslc.compiler.analysis.amounts import Flight, Work
from dslc.compiler.analysis.statement_work import Statements, overlapped
from dslc.compiler.cost.alike import are_turns_alike
from dslc.compiler.cost.cores import predict_on_core
from dslc.compiler.cost.prediction import Prediction, together
from dslc.compiler.cost.registers import MOST, estimate_registers
from dslc.compiler.cost.together import tiles_at_once
from dslc.compiler.cost.traffic import device_bytes
from dslc.compiler.cost.traits import (
    best_rate,
    bytes_once,
    is_persistent,
    multiplying,
    shared_bytes,
    turns_looked_at,
    under_way,
)
from dslc.compiler.cost.work import block_work
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const, Var
from dslc.compiler.ir.program import Call, Kernel, Program, TileProgram
from dslc.compiler.ir.values import Memory
from dslc.compiler.ir.workload import Known, extents, range_of, sampled
from dslc.compiler.targets import Target
from dslc.compiler.targets.rates import CoreRates, Rates

_PARTS, _AT_ONCE = 4, 8  # of a multiprocessor; registers of a lane
_MULTIPLYING = 240  # registers of a thread beside producer warps
_TURNS = 6  # of the grid whose work is looked at
_START = 500.0  # cycles until a block's first instruction, and after its last until the next begins
_SPILLED = 40.0  # times longer, for as many spilled registers as a thread has
_ROOM = 1.02  # registers that an estimate may ask for before some are taken to be spilled
_ONCE = 1 / 16  # of that for registers that are stored and loaded once a turn
_PER_SM = 64.0  # bytes a cycle that one multiprocessor takes from the cache at most
_FAR = 24.0  # of these from memory, where a unit copies them
_OVERLAP, _BESIDE = 6.0, 4.0  # how wholly units overlap, and units with a block's own path
_COOL, _HOT = 0.5e-3, 0.15  # seconds of matrix units until the clock falls, and by how much


def predict(
    program: TileProgram,
    target: Target,
    dims: Mapping[str, int],
    *,
    registers: Mapping[str, int] | None = None,
    shared: Mapping[str, int] | None = None,
    ahead: int = 0,
    turns: int = _TURNS,
) -> Prediction:
    """The time of one launch of a program after the passes of its target, for dims by name.

    `registers` of a thread and `shared` bytes of a block, by kernel name, take the place of estimates.
    With `ahead` loads in loops are taken to be under way by so many iterations, as passes have not yet
    said. The work of the grid's turns is taken from so many of them.
    DSL0530 for a target whose rates are not known.
    """
    if (core := target.core_rates) is not None:
        return _on_core(program, core, dims)
    if target.rates is None:
        text = f"there are no rates for {target.name}, so no time can be predicted"
        raise error("DSL0530", text)
    if isinstance(program, Kernel):
        return _kernel(
            program, target, target.rates, dims, registers or {}, shared or {}, ahead, turns
        )
    parts = [
        _kernel(c.kernel, target, target.rates, call_dims(program, c, dims), registers or {}, {})
        for c in program.calls
    ]
    return together(parts, target.rates.launch)


def _on_core(program: TileProgram, core: CoreRates, dims: Mapping[str, int]) -> Prediction:
    if isinstance(program, Kernel):
        return predict_on_core(program, core, dims)
    parts = [predict_on_core(c.kernel, core, call_dims(program, c, dims)) for c in program.calls]
    return together(parts, core.launch)


def call_dims(program: Program, call: Call, dims: Mapping[str, int]) -> dict[str, int]:
    """The dims of a called kernel, from the shapes that the program hands it."""
    sizes: dict[str, int] = {}
    for param, arg in zip(call.kernel.params, call.args, strict=True):
        if isinstance(param, Memory) and isinstance(arg, Memory):
            shape = extents(arg, dims)
            for extent, size in zip(param.shape, shape or (), strict=False):
                if isinstance(extent, Var):
                    sizes.setdefault(extent.name, size)
    return sizes


@dataclass(frozen=True, slots=True)
class _Resident:
    """How many blocks a multiprocessor holds, and why not more."""

    blocks: int
    limit: str
    registers: int
    spilled: float = 0.0


def _kernel(
    kernel: Kernel,
    target: Target,
    rates: Rates,
    dims: Mapping[str, int],
    registers: Mapping[str, int],
    shared: Mapping[str, int],
    ahead: int = 0,
    turns: int = _TURNS,
) -> Prediction:
    known: Known = {
        var: Const(dims[var.name], var.dtype)
        for var in (*kernel.dims, *(p for p in kernel.params if isinstance(p, Var)))
        if var.name in dims
    }
    axes = [range_of(a.start, a.stop, a.step, known) or range(1) for a in kernel.grid]
    counts = tuple(len(a) for a in axes)
    blocks = prod(counts)
    resident = _resident(kernel, target, rates, registers.get(kernel.name), shared.get(kernel.name))
    work, most = _mean_block(kernel, target, rates, axes, known, ahead, turns)
    at_once = float(min(max(1, blocks), resident.blocks * target.units))
    tiles = tiles_at_once(kernel, known, int(at_once))
    read = device_bytes(kernel, work.loaded, dims, counts, at_once, rates.cache_bytes, tiles)
    written = device_bytes(kernel, work.stored, dims, counts, at_once, rates.cache_bytes)
    by_unit = any(isinstance(s, ins.WarpSpecialize) for s in kernel.body)
    launch = _Launch(target, rates, work, resident.blocks, blocks, read, written, by_unit, most)
    # A register that is spilled is stored and loaded again in most iterations.
    seconds = launch.seconds() * (1 + _SPILLED * resident.spilled / MOST)
    terms = {**launch.terms(), "latency": launch.latency(), "launch": rates.launch}
    bound = max(terms, key=lambda n: terms[n])
    moved = bytes_once(kernel, dims)
    return Prediction(
        seconds,
        terms,
        bound,
        moved / rates.read,
        work.operations * blocks / best_rate(kernel, target, rates),
        moved,
        work.operations * blocks,
        blocks,
        resident.blocks,
        blocks / (resident.blocks * target.units),
        resident.registers,
        resident.limit,
    )


def _mean_block(
    kernel: Kernel,
    target: Target,
    rates: Rates,
    axes: list[range],
    known: Known,
    ahead: int,
    turns: int,
) -> tuple[Work, float]:
    """What a block does, and how many times as much the one loads that loads most."""
    costs = Statements(target, rates, kernel.threads or target.warp_size, known)
    points = list(sampled(axes))[:1] if are_turns_alike(kernel) else turns_looked_at(axes, turns)
    mean, works = Work(), []
    for point in points:
        turn = {a.var: Const(at, INDEX) for a, at in zip(kernel.grid, point, strict=True)}
        works.append(block_work(kernel, known | turn, costs, ahead=ahead))
        mean.add(works[-1], 1 / len(points))
    if works and is_persistent(kernel):
        # All blocks run at once, and the launch ends with those that have most turns: the first.
        first = works[0]
        most = sum(first.loaded.values()) / max(1.0, sum(mean.loaded.values()))
        own = replace(first, loaded=mean.loaded, stored=mean.stored, operations=mean.operations)
        return own, max(1.0, most)
    if works and kernel.cluster is not None:
        # Blocks of a cluster end together: all take as long as the one that adds up.
        longest = max(works, key=lambda w: w.path)
        own = replace(mean, path=longest.path, waits=longest.waits, flights=longest.flights)
        return own, 1.0
    return mean, 1.0


def _resident(
    kernel: Kernel, target: Target, rates: Rates, registers: int | None, shared: int | None
) -> _Resident:
    """The occupancy: a warp gets registers by eights of a lane, four parts share those of all warps."""
    wanted = registers or estimate_registers(multiplying(kernel))
    threads = kernel.threads or target.warp_size
    # All threads of a block must have theirs, which the assembler sees to.
    own = target.memory("register")
    quarters = _PARTS * target.warp_size
    most = min(
        own.bytes // 4 if own else MOST, rates.registers // (-(-threads // quarters) * quarters)
    )
    count = min(most, wanted)
    warps = -(-threads // target.warp_size)
    each = -(-count // _AT_ONCE) * _AT_ONCE * target.warp_size * warps
    if any(isinstance(s, ins.WarpSpecialize) for s in kernel.body):
        # Its block has the multiprocessor, and its threads all registers, for itself.
        spilled = _spilled(wanted, under_way(kernel), _MULTIPLYING)
        return _Resident(1, "shared memory", count, spilled)
    taken = (shared_bytes(kernel) if shared is None else shared) + rates.reserved
    limits = {
        "warps": rates.warps // warps,
        "blocks": rates.blocks,
        "registers": rates.registers // max(1, each),
        "shared memory": rates.shared_bytes // max(1, -(-taken // 128) * 128),
    }
    limit = min(limits, key=lambda n: limits[n])
    late, room = (0, float(most)) if registers else (under_way(kernel), _ROOM * most)
    spilled = _spilled(wanted, late, room)
    return _Resident(max(1, limits[limit]), limit, count, spilled)


def _spilled(wanted: int, late: int, most: float) -> float:
    """Spilled registers by how often: sums around each product, `late` operands once a turn."""
    sums = max(0.0, wanted - most)
    return sums + _ONCE * (max(0.0, wanted + late - most) - sums)


@dataclass(frozen=True, slots=True)
class _Launch:
    """All blocks of a launch; `read` and `written` are bytes of device memory, by memory name."""

    target: Target
    rates: Rates
    work: Work
    resident: int
    blocks: int
    read: Mapping[str, float]
    written: Mapping[str, float]
    by_unit: bool
    most: float

    @property
    def memory(self) -> float:
        """Seconds of device memory."""
        return (
            sum(self.read.values()) / self.rates.read
            + sum(self.written.values()) / self.rates.write
        )

    @property
    def asked(self) -> float:
        """Bytes that all blocks ask the cache for."""
        return (sum(self.work.loaded.values()) + sum(self.work.stored.values())) * self.blocks

    def seconds(self) -> float:
        """The whole time."""
        if not self.blocks:
            return self.rates.launch
        room = self.resident * self.target.units
        full, rest = divmod(self.blocks, room)
        # Blocks of later waves begin when others end, with nothing under way but what these have.
        again = self._lead() + (self.rates.latency if self.work.flights else 0.0)
        later = (ceil(self.blocks / room) - 1) * again / self.resident
        waves = full * self._wave(room) + (self._wave(rest) if rest else 0.0)
        return self.rates.launch + self._lead() + waves + later + self._cooling()

    def terms(self) -> dict[str, float]:
        """What each unit needs for all blocks, spread evenly, in seconds."""
        share = self.blocks / min(max(1, self.blocks), self.target.units)
        cycles = {n: c * share / self.rates.clock for n, c in self._cycles().items()}
        cycles["matrix"] += self._cooling()
        return {"memory": self.memory, "cache": self.asked / self.rates.cache, **cycles}

    def latency(self) -> float:
        """The time of blocks that follow each other on one multiprocessor."""
        waves = self.blocks / (self.resident * self.target.units)
        return max(1.0, waves) * (self._lead() + self._path(1))

    def _cycles(self) -> dict[str, float]:
        """What one block takes of each unit of its multiprocessor."""
        w, r = self.work, self.rates
        return {
            "matrix": w.matrix,
            "issue": w.slots / r.issue,
            "shared": w.shared / r.shared,
            "special": w.special / r.special,
        }

    def _lead(self) -> float:
        """Seconds until a block's first data are there, and after its last instruction."""
        return _START / self.rates.clock + (self.rates.latency if self.work.flights else 0.0)

    def _path(self, each: int) -> float:
        """What a block beside others waits for one after the other, in seconds, but for the lead."""
        w, clock = self.work, self.rates.clock
        waits = max(0.0, w.waits - bool(w.flights)) * self.rates.latency
        return (
            (w.path + w.last) / clock
            + waits
            + sum(f.times * max(0.0, self._flight(f, each) - f.cycles / clock) for f in w.flights)
        )

    def _flight(self, flight: Flight, each: int) -> float:
        """Seconds between two iterations whose loads are so far ahead, by Little's law."""
        cycles = flight.late + each * flight.loaded / _PER_SM
        return (self._latency() + cycles / self.rates.clock) / flight.depth

    def _latency(self) -> float:
        """Of loads in a loop: that of memory, as far as no block beside has loaded the same before."""
        own = {n: count * self.blocks for n, count in self.work.loaded.items()}
        far = max((min(1.0, self.read.get(n, 0.0) / c) for n, c in own.items() if c), default=1.0)
        return far * self.rates.latency + (1 - far) * self.rates.cache_latency

    def _cooling(self) -> float:
        """Seconds more where matrix units work for long: the chip's power lowers their clock."""
        each = self.blocks / min(max(1, self.blocks), self.target.units)
        return max(0.0, self.work.matrix * each / self.rates.clock - _COOL) * _HOT

    def _wave(self, count: int) -> float:
        """So many blocks at once, in seconds, but for the lead."""
        units = self.target.units
        each, share = ceil(count / units), count / self.blocks
        asked = self.asked * share
        cycles = {n: c * each / self.rates.clock for n, c in self._cycles().items()}
        of_one = each * self.most / self.blocks / self.rates.clock
        alone = self.asked * of_one / _PER_SM
        if self.by_unit:
            alone = max(alone, sum(self.read.values()) * of_one / _FAR)
        # What comes from memory comes through the cache.
        far = max(self.memory * share, asked / self.rates.cache, alone)
        if each == 1:
            del cycles["matrix"]  # nothing runs beside a block, and its products are in its path
        needs = overlapped([*cycles.values(), far], _OVERLAP)
        return overlapped([needs, self._path(each)], _BESIDE)
