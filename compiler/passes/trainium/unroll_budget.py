"""How much is unrolled: loops past a budget of instructions are counted by the machine.

Tracing writes every instruction of a Python loop out, and the Neuron compiler schedules them all:
better code, but its time grows with their number. The outermost loops become loops of the machine until
what is left of the body keeps to the budget, where their slices are such as a register can begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from math import prod

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel, Memory, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, expressions, regions, walk
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.trainium.lanes import BLOCK
from dslc.compiler.passes.trainium.placement import chunks, counts, placement_of
from dslc.compiler.targets.nki import MOVING, PARTITIONS

BUDGET = 100_000
"""Instructions of an unrolled body: a strip of NeuronMM's largest problem has 16 thousand."""


def machine_counters(kernel: Kernel) -> set[ex.Var]:
    """The counters of the loops that are not unrolled."""
    loops = [(a.var, _trip_count(a.start, a.stop, a.step)) for a in kernel.grid]
    body: Body = kernel.body
    counters: set[ex.Var] = set()
    while True:
        total = prod(n for _, n in loops) * instructions(body)
        # A slice that begins at a register is transposed by way of a copy in HBM.
        for var, trips in sorted(loops, key=lambda loop: _begins_transposed(kernel, loop[0])):
            if total <= BUDGET:
                return counters
            if trips > 1 and _may_be_counted(kernel, var, counters):
                counters.add(var)
                total //= trips
        inner = [s for s in body if isinstance(s, ins.For)]
        if total <= BUDGET or len(inner) != 1:
            return counters
        loops = [(inner[0].var, _trip_count(inner[0].start, inner[0].stop, inner[0].step))]
        body = inner[0].body


def instructions(body: Body) -> int:
    """About how many instructions of the machine a body is."""
    return sum(_instructions(s) for s in body)


def _instructions(stmt: Stmt) -> int:
    if isinstance(stmt, ins.For):
        return _trip_count(stmt.start, stmt.stop, stmt.step) * instructions(stmt.body)
    if bodies(stmt):
        return sum(instructions(b) for b in bodies(stmt))
    out = getattr(stmt, "out", None) or getattr(stmt, "x", None)
    if not isinstance(out, Value):
        return 1
    place = None if out.type.layout is None else placement_of(out.type.layout)
    if place is None:
        return 1
    number, columns = chunks(place, out.type.shape), counts(place, out.type.shape)[1]
    if isinstance(stmt, ins.Fused):  # by blocks, where it is a chain
        return number * (-(-columns // BLOCK) * len(stmt.xs) if len(stmt.xs) > 2 else 1)
    if isinstance(stmt, ins.Dot):
        return number * -(-columns // MOVING) * (1 + -(-stmt.a.type.shape[-1] // PARTITIONS))
    return number


def _trip_count(start: ex.Expr, stop: ex.Expr, step: ex.Expr) -> int:
    iterations = range_of(start, stop, step)
    return 1 if iterations is None else max(1, len(iterations))  # not known: unrolled in tracing


def _may_be_counted(kernel: Kernel, var: ex.Var, others: Set[ex.Var]) -> bool:
    """Whether a register can count the loop: it begins slices beside no `others`, nothing else."""
    for stmt in walk(kernel.body):
        for region, value in _accesses(stmt):
            if not all(_begins(a.start, var, a.step, others) for a in region.axes):
                return False
            begun = any(var in ex.free_vars(a.start) for a in region.axes)
            if begun and not _in_order(region, value):
                return False
        inside = {v for r in regions(stmt) for a in r.axes for v in ex.free_vars(a.start)}
        decided = {v for e in expressions(stmt) for v in ex.free_vars(e)} - inside
        if var in decided and not isinstance(stmt, ins.Full | ins.Load | ins.Store):
            return False
    return True


def _begins_transposed(kernel: Kernel, var: ex.Var) -> bool:
    """Whether the counter begins a slice that the DMA engines transpose."""
    return any(
        isinstance(stmt, ins.Load)
        and value is not None
        and value.type.layout is not None
        and _transposed(value)
        and any(var in ex.free_vars(a.start) for a in region.axes)
        for stmt in walk(kernel.body)
        for region, value in _accesses(stmt)
    )


def _transposed(value: Value) -> bool:
    assert value.type.layout is not None
    place = placement_of(value.type.layout)
    columns = place is not None and place.axis == 1
    return value.type.rank == 2 and columns and value.type.dtype.bits == 16


def _accesses(stmt: Stmt) -> Iterator[tuple[Region, Value | None]]:
    for region in regions(stmt):
        value = getattr(stmt, "out", None) or getattr(stmt, "x", None)
        yield region, value if isinstance(value, Value) else None


def _begins(start: ex.Expr, var: ex.Var, step: int, others: Set[ex.Var]) -> bool:
    """Whether a start is the counter, and no other register besides."""
    if var not in ex.free_vars(start):
        return True
    rest = simplify(ex.Binary("sub", start, var, INDEX))
    return step == 1 and var not in ex.free_vars(rest) and not others & set(ex.free_vars(rest))


def _in_order(region: Region, value: Value | None) -> bool:
    """Whether the transfer is of slices, not of a pattern of strides."""
    memory: Memory = region.memory
    if value is None or value.type.layout is None or memory.packed is not None:
        return False
    place = placement_of(value.type.layout)
    rank = value.type.rank
    if place is None or place.axis is None or place.run > 1 or rank < 1:
        return False
    return place.axis == 0 or _transposed(value)
