"""From a kernel to a placed plan: the first herd, by cost, whose plan breaks no rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

from dslc.codegen.aie.compute.core_program import CoreProgram, program_of
from dslc.codegen.aie.compute.loop_ranges import deals_evenly
from dslc.codegen.aie.dtypes import bytes_of, stored
from dslc.codegen.aie.planning.arguments import as_arrays
from dslc.codegen.aie.planning.blocking import Blocking, find_blocking
from dslc.codegen.aie.planning.channel_sharing import ORDERS, fit, sharing
from dslc.codegen.aie.planning.events import Share, Tensor, events, scope_runs, tensors
from dslc.codegen.aie.planning.herd import Herd, herds
from dslc.codegen.aie.planning.host_sequence import schedule
from dslc.codegen.aie.planning.memories import choose_depths
from dslc.codegen.aie.planning.memory_tile_panels import hold_panels
from dslc.codegen.aie.planning.merging import Cascade, find_cascade
from dslc.codegen.aie.planning.network import Network
from dslc.codegen.aie.planning.plan import Fifo, Plan, Tile
from dslc.codegen.aie.planning.rounds import traffic
from dslc.codegen.aie.planning.scopes import Scope, Scopes, find_scopes
from dslc.codegen.aie.planning.streams import Stream, check_outputs, find_streams
from dslc.codegen.aie.proving.legality import prove, prove_network
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.ir import Kernel, Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets import Target
from dslc.compiler.targets.aie import TileArray, array_of

_MERGING = 1.1  # what passing results on costs, as a factor of the work: a cascade must be worth it
_TRIED = 16  # herds that the array has channels for, before it is said why the best cannot be


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that was proved to be legal, and the programs of its cores."""

    plan: Plan
    programs: dict[Tile, CoreProgram]
    blocking: Blocking


def plan_kernel(
    kernel: Kernel,
    target: Target,
    *,
    draft: bool = False,
    least: Mapping[Memory, Tensor] | None = None,
) -> Planned:
    """The plan of a kernel whose dims are known; DSL0550 to DSL0554 and DSL0590 where there is none.

    A draft has the program of one core in place of all. `least` says how tensors are padded in the
    host's memory at the least.
    """
    if kernel.dims:
        names = ", ".join(d.name for d in kernel.dims)
        raise error(
            "DSL0550",
            f"{kernel.name}: an NPU's transfers are fixed when it is compiled, and {names} is "
            f"not known",
            kernel.loc,
            hint=" ".join(f"-D {d.name}=..." for d in kernel.dims),
        )
    kernel, array = as_arrays(kernel), array_of(target)
    scopes = find_scopes(kernel)
    streams = find_streams(scopes)
    if not any(s.output for s in streams):
        raise error(
            "DSL0590", f"{kernel.name} writes no tensor: an NPU has nothing to do", kernel.loc
        )
    check_outputs(streams)
    for stream in streams:
        stored(stream.memory.dtype, stream.memory.loc, f"tensor {stream.memory.name}: an element")
    cascade = find_cascade(kernel)
    problem: DiagnosticError | None = None
    tried = 0
    for option, herd in _candidates(kernel, target, scopes, cascade):
        try:
            plan = _connected(kernel, array, herd, scopes, option.groups, cascade, least)
            tried += 1
            return _planned(plan, option.blocking, draft=draft)
        except DiagnosticError as failure:
            problem = failure if problem is None or tried == 1 else problem
            if tried == _TRIED:
                break
    if problem is None:  # a herd of one core is among them wherever there are turns
        raise error("DSL0550", f"{kernel.name} has no turns with these sizes", kernel.loc)
    raise problem


@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """One way in which tensors share a core's channels."""

    groups: list[tuple[Stream, ...]]
    blocking: Blocking

    @property
    def streams(self) -> list[Stream]:
        """All of them."""
        return [s for g in self.groups for s in g]

    @property
    def names(self) -> frozenset[tuple[str, ...]]:
        """Who shares with whom."""
        return frozenset(tuple(s.name for s in g) for g in self.groups)


def _options(kernel: Kernel, target: Target, scopes: Scopes) -> list[_Option]:
    """The ways to share channels that keep one rule or another; DSL0552 where there is none."""
    array = array_of(target)
    options: dict[frozenset[tuple[str, ...]], _Option] = {}
    for order, last in product(ORDERS, (False, True)):
        streams = find_streams(scopes)
        blocking = find_blocking(kernel, target, streams)
        runs = partial(scope_runs, kernel)
        groups = list(sharing(streams, array.compute.inputs, runs, order, last=last))
        _check_channels(groups, array)
        fit(groups)
        option = _Option(groups, blocking)
        options.setdefault(option.names, option)
    return list(options.values())


def _candidates(
    kernel: Kernel, target: Target, scopes: Scopes, cascade: Cascade | None
) -> list[tuple[_Option, Herd]]:
    """Herds and ways to share channels, the cheapest first."""
    array = array_of(target)
    loop = None if cascade is None else cascade.loop
    shares = _Shares(kernel, scopes, loop)
    every = list(herds(kernel, len(array.compute.rows), array.columns, loop))
    shared = None if loop is None else scopes.loops[loop]
    pairs = [
        (o, h)
        for o in _options(kernel, target, scopes)
        for h in every
        if shared is None or h.cascade is None or _all_are_taken(shared, h, o.streams)
    ]

    runs = cache(partial(scope_runs, kernel))

    def cost(pair: tuple[_Option, Herd]) -> tuple[float, float, float, int, int]:
        """Turns of a core, cycles of the slowest stream and the host's memory, bytes of that, cores."""
        option, herd = pair
        loads = [traffic(g, herd, runs, array) for g in option.groups]
        moved = sum(t.host for t in loads)
        # The two do not overlap wholly: of both the sum.
        cycles = moved * array.clock / array.host + max(t.core / array.stream for t in loads)
        # Of herds alike the widest: each column has channels to the host.
        cores = herd.rows * herd.columns
        return herd.turns * shares.of(herd), cycles, moved, cores, -herd.columns

    return sorted(pairs, key=cost)


def _all_are_taken(shared: Scope, herd: Herd, streams: list[Stream]) -> bool:
    """Whether no object is left in a channel: a turn that a stage passes over runs no loop in it."""
    inner = any(shared.holds(s.scope) for s in streams)
    return not inner or deals_evenly(shared, herd.stages)


def _connected(
    kernel: Kernel,
    array: TileArray,
    herd: Herd,
    scopes: Scopes,
    groups: list[tuple[Stream, ...]],
    cascade: Cascade | None,
    least: Mapping[Memory, Tensor] | None,
) -> Plan:
    """The FIFOs of a herd, where the array has the channels and descriptors for them."""
    streams = sorted((s for g in groups for s in g), key=lambda s: s.number)
    lying = tensors(kernel, streams, herd, least)
    used = [m for m in kernel.tensors if any(s.memory is m for s in streams)]
    plan = Plan(kernel, array, herd, scopes, streams, [lying[m] for m in used])
    plan.cascade = cascade if herd.cascade is not None else None
    network = Network(plan)
    for group in groups:
        network.connect(group)
    prove_network(plan)
    return plan


def _planned(plan: Plan, blocking: Blocking, *, draft: bool) -> Planned:
    """The rest of a plan: what the host does, the programs, the depths of FIFOs."""
    hold_panels(plan)
    schedule(plan)
    # The programs of a row differ in numbers alone: one says what all of them keep.
    rows = range(plan.herd.rows if plan.cascade else 1)
    first = [program_of(plan, blocking, plan.tile(row, 0)) for row in rows]
    programs = {plan.tile(r, c): first[r % len(first)] for r, c in plan.herd.cores}
    choose_depths(plan, programs)
    if not draft:
        programs = {tile: program_of(plan, blocking, tile) for tile in plan.cores}
    prove(plan, programs)
    return Planned(plan, programs, blocking)


class _Shares:
    """The part of a turn's work that a core has: all, or its iterations of a loop that is shared."""

    def __init__(self, kernel: Kernel, scopes: Scopes, loop: ins.For | None) -> None:
        self._kernel, self._loop = kernel, loop
        self._scope = None if loop is None else scopes.loops[loop]
        self._found: dict[int, float] = {}

    def of(self, herd: Herd) -> float:
        """The part that a core of the herd has."""
        if herd.cascade is None or self._scope is None:
            return 1.0
        if herd.stages not in self._found:
            own = scope_runs(self._kernel, self._scope, Share(self._loop, 0, herd.stages))
            every = scope_runs(self._kernel, self._scope)
            self._found[herd.stages] = own / max(1, every) * _MERGING
        return self._found[herd.stages]


def _check_channels(groups: list[tuple[Stream, ...]], array: TileArray) -> None:
    """DSL0552 where a core has not the channels for its tensors, whatever the herd."""
    for output in (False, True):
        limit = array.compute.outputs if output else array.compute.inputs
        own = [g for g in groups if g[0].output == output]
        if len(own) > limit:
            names = ", ".join("/".join(s.memory.name for s in g) for g in own)
            word = "written" if output else "read"
            raise error(
                "DSL0552",
                f"tensors {names} are {word} in a turn, and a core has {limit} DMA channels for that: "
                "those take turns on one whose objects are alike, or can be widened to one size",
                own[limit][0].memory.loc,
                hint="one type for them, or a kernel each" if output else None,
            )


def modelled_cycles(planned: Planned, macs: int) -> float:
    """A coarse model of a launch: the slowest of products, a core's streams and the host's memory.

    `macs` are the multiply-adds of one turn of the grid. A core that holds single objects multiplies
    and receives in turn.
    """
    plan = planned.plan
    turns = plan.herd.turns
    moved = sum(
        math.prod(n for n, _ in task.transfer.dims) * bytes_of(task.tensor.memory.dtype)
        for phase in plan.phases
        for task in phase
    )
    products = turns * macs / plan.herd.stages / max(rate for _, rate in plan.array.multiply_adds)
    (row, column), by_memory = plan.herd.cores[0], {t.memory: t for t in plan.tensors}
    streams: dict[Fifo, float] = {}
    single = False
    for stream, fifo in plan.served[plan.tile(row, column)].items():
        tensor = by_memory[stream.memory]
        count = len(events(plan.kernel, stream, plan.herd, tensor, row, column).turns)
        moment = count * fifo.passes(stream) * stream.bytes / plan.array.stream
        streams[fifo] = streams.get(fifo, 0.0) + moment
        single |= fifo.depth == fifo.unit and count > 1 and not stream.output
    core = max(streams.values(), default=0.0)
    both = products + core if single else max(products, core)
    return max(both, moved / (plan.array.host / plan.array.clock))
