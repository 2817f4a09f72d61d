"""What each line of a kernel's source costs: bytes, operations, its busiest unit's time, registers.

    costs_by_line(program, target, {"M": 4096, "N": 4096})[("softmax.tile", 9)].seconds

`program` is one after the passes of its target, whose statements keep the places that they came from.
Statements count as often as a launch runs them, over a sample of the grid's turns. Units overlap: the
times of lines do not add up to that of the launch, which `predict` gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from dslc.compiler.analysis.amounts import Work
from dslc.compiler.analysis.statement_work import Statements
from dslc.compiler.cost.held_by_statement import registers_at, shared_at
from dslc.compiler.cost.model import call_dims
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import evaluate
from dslc.compiler.ir.expr import Const, Var
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.traverse import Body, walk
from dslc.compiler.ir.workload import (
    Known,
    Workload,
    count_instruction,
    range_of,
    spread,
    tensor_bytes,
    value_of,
)
from dslc.compiler.targets import Target
from dslc.compiler.targets.rates import CoreRates, Rates

Line: TypeAlias = tuple[str, int]
_TURNS = 12  # of the grid that are looked at
_ITERATIONS = 4  # of a loop whose body differs from iteration to iteration


@dataclass(slots=True)
class LineCost:
    """A line over one launch.

    `loaded` and `stored` are bytes asked of global memory, `operations` two a multiply-add.
    `units` are seconds of each unit of a machine whose rates are known, by its name.
    `registers` of a thread, and bytes of `shared` memory, are the most that live at one of its
    statements; both are estimates.
    """

    loaded: float = 0.0
    stored: float = 0.0
    operations: float = 0.0
    statements: int = 0
    registers: int = 0
    shared: int = 0
    units: dict[str, float] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """The unit that it keeps busy longest; empty where nothing is known."""
        return max(self.units, key=lambda u: self.units[u]) if any(self.units.values()) else ""

    @property
    def seconds(self) -> float:
        """The time of that unit."""
        return max(self.units.values(), default=0.0)


def costs_by_line(
    program: TileProgram, target: Target, dims: Mapping[str, int]
) -> dict[Line, LineCost]:
    """The costs of one launch, for dims by name; a program's kernels add up, call by call."""
    costs: defaultdict[Line, LineCost] = defaultdict(LineCost)
    if isinstance(program, Kernel):
        _add(program, target, dims, costs)
    else:
        for call in program.calls:
            _add(call.kernel, target, call_dims(program, call, dims), costs)
    return dict(costs)


def _add(
    kernel: Kernel, target: Target, dims: Mapping[str, int], costs: dict[Line, LineCost]
) -> None:
    known: Known = {
        var: Const(dims[var.name], var.dtype)
        for var in (*kernel.dims, *(p for p in kernel.params if isinstance(p, Var)))
        if var.name in dims
    }
    axes = [range_of(a.start, a.stop, a.step, known) or range(1) for a in kernel.grid]
    turns = prod(len(a) for a in axes)
    counts: defaultdict[ins.Stmt, float] = defaultdict(float)
    points = list(spread(axes, _TURNS))
    for point in points:
        turn = {a.var: Const(at, INDEX) for a, at in zip(kernel.grid, point, strict=True)}
        _count(kernel.body, known | turn, turns / len(points), counts)
    registers, shared = registers_at(kernel), shared_at(kernel)
    timed = _timing(kernel, target, dims, known, turns, counts)
    for stmt in walk(kernel.body):
        if stmt.loc is None:
            continue
        cost = costs[(stmt.loc.file, stmt.loc.line)]
        cost.statements += 1
        cost.registers = max(cost.registers, registers.get(stmt, 0))
        cost.shared = max(cost.shared, shared.get(stmt, 0))
        if stmt in counts:
            work = _asked(stmt)
            cost.loaded += counts[stmt] * sum(work.loaded.values())
            cost.stored += counts[stmt] * sum(work.stored.values())
            cost.operations += counts[stmt] * (work.dot_operations + work.other_operations)
            for unit, seconds in timed(stmt, counts[stmt]):
                cost.units[unit] = cost.units.get(unit, 0.0) + seconds


def _asked(stmt: ins.Stmt) -> Workload:
    work = Workload()
    if not isinstance(stmt, ins.For | ins.While | ins.If | ins.WarpSpecialize):
        count_instruction(stmt, work)
    return work


def _count(body: Body, known: Known, times: float, counts: dict[ins.Stmt, float]) -> None:
    """Add how often each statement of a body without statements of its own is run."""
    known = dict(known)
    for stmt in body:
        match stmt:
            case ins.Let(var=var, value=value):
                number = evaluate(value, known)
                if number is not None:
                    known[var] = Const(number, var.dtype)
                counts[stmt] += times
            case ins.For():
                every = range_of(stmt.start, stmt.stop, stmt.step, known)
                if every is None:
                    every = range(1)
                varies = any(isinstance(s, ins.For | ins.While | ins.If) for s in stmt.body)
                points = [at for (at,) in spread([every], _ITERATIONS if varies else 1)]
                for at in points:
                    here = known | {stmt.var: Const(at, INDEX)}
                    _count(stmt.body, here, times * len(every) / len(points), counts)
            case ins.While():
                _count((*stmt.before, *stmt.body), known, times, counts)
            case ins.If():
                chosen = value_of(stmt.condition, known)
                if chosen is None or chosen:
                    _count(stmt.then, known, times, counts)
                if not chosen:
                    _count(stmt.otherwise, known, times, counts)
            case ins.WarpSpecialize():
                _count(stmt.body, known, times, counts)
            case _:
                counts[stmt] += times


Timed: TypeAlias = Callable[[ins.Stmt, float], Iterator[tuple[str, float]]]


def _timing(
    kernel: Kernel,
    target: Target,
    dims: Mapping[str, int],
    known: Known,
    turns: int,
    counts: Mapping[ins.Stmt, float],
) -> Timed:
    """What gives the seconds of each unit for a statement that runs so often."""
    rates, core = target.rates, target.core_rates
    asked: defaultdict[str, float] = defaultdict(float)
    for stmt, times in counts.items():
        for name, count in _asked(stmt).loaded.items():
            asked[name] += count * times
    once = {m.name: tensor_bytes(m, dims) or 0.0 for m in (*kernel.tensors, *kernel.workspaces)}
    # What is asked for again is in a cache.
    far = {name: min(1.0, once.get(name, 0.0) / count) for name, count in asked.items() if count}

    def from_memory(stmt: ins.Stmt, times: float) -> float:
        work = _asked(stmt)
        read = sum(count * far.get(name, 1.0) for name, count in work.loaded.items())
        return times * (read + sum(work.stored.values()))

    if rates is not None:
        costs = Statements(target, rates, kernel.threads or target.warp_size, known)
        busy = min(max(1, turns), target.units)

        def on_gpu(stmt: ins.Stmt, times: float) -> Iterator[tuple[str, float]]:
            if isinstance(stmt, ins.For | ins.While | ins.If | ins.WarpSpecialize):
                return  # what they hold is counted by itself
            work, cycle = costs.of(stmt), times / busy / rates.clock
            yield "device memory", from_memory(stmt, times) / rates.read
            yield from _gpu_units(work, rates, times, cycle)

        return on_gpu
    if core is not None:
        return lambda stmt, times: _core_units(core, stmt, times, from_memory(stmt, times))
    return lambda stmt, times: iter(())


def _gpu_units(work: Work, rates: Rates, times: float, cycle: float) -> Iterator[tuple[str, float]]:
    asked = sum(work.loaded.values()) + sum(work.stored.values())
    yield "level-2 cache", times * asked / rates.cache
    yield "matrix units", cycle * work.matrix
    yield "instruction issue", cycle * work.slots / rates.issue
    yield "shared memory", cycle * work.shared / rates.shared
    yield "special functions", cycle * work.special / rates.special


def _core_units(
    core: CoreRates, stmt: ins.Stmt, times: float, moved: float
) -> Iterator[tuple[str, float]]:
    work = _asked(stmt)
    asked = sum(work.loaded.values()) + sum(work.stored.values())
    yield "memory", moved / core.read
    yield "cache", times * asked / core.cache
    others = work.other_operations / core.elementwise
    products = 0.0
    if isinstance(stmt, ins.Dot):
        widest = max(x.type.dtype.bits for x in (stmt.a, stmt.b))
        bits = next(n for n in (8, 16, 32, 64) if widest <= n)
        products = work.dot_operations / 2 / core.multiply_adds(bits)
    yield "instructions", times * (products + others) / core.clock
