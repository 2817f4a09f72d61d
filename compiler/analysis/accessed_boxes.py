"""The box around what a turn touches of a tensor, by the numbers of the turn.

for i in range(0, 4):
  %x = load @x[m + i, 0 : +8]        ->  rows m : +4, columns 0 : +8
  store @x[m + i, 8 : +8], %y        ->  rows m : +4, columns 0 : +16
  %z = load @x[read(%t), 0 : +8]     ->  all rows
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dslc.compiler.analysis.asserted_limits import is_runtime, upper
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel, Memory, Region, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import (
    Linear,
    constant,
    difference,
    linear,
    simplify,
    to_expr,
)
from dslc.compiler.ir.expr import Expr, Var, free_vars, substitute
from dslc.compiler.ir.indexed import numbered
from dslc.compiler.ir.program import GridAxis
from dslc.compiler.ir.traverse import Body, bodies, regions, values_in, walk

Access = ins.Load | ins.Store | ins.AtomicRmw | ins.Gather | ins.Scatter


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a loop's variable: `count` of them, None where that is no constant."""

    start: Expr
    step: int
    count: int | None


@dataclass(frozen=True, slots=True)
class Touch:
    """An access to a tensor: where it begins, over variables of loops and the grid.

    `within` are the loops around it, `choice` is whether a branch or a loop of unknown iterations is.
    `uncounted` is whether its place differs between iterations of which nobody knows how many there
    are.
    """

    stmt: Access
    starts: tuple[Expr, ...]
    within: tuple[ins.For, ...]
    choice: bool
    uncounted: bool = False

    @property
    def region(self) -> Region:
        """The part of the tensor."""
        return self.stmt.region

    @property
    def writes(self) -> bool:
        """Whether it changes the tensor."""
        return not isinstance(self.stmt, ins.Load | ins.Gather)


@dataclass(slots=True)
class Touches:
    """What a turn touches, in order, and the ranges of its loops."""

    found: list[Touch] = field(default_factory=list)
    ranges: dict[Var, Range] = field(default_factory=dict)

    def of(self, memory: Memory) -> list[Touch]:
        """Those of one tensor."""
        return [t for t in self.found if t.region.memory is memory]


def touches(kernel: Kernel) -> Touches:
    """The accesses of a kernel's turn to tensors."""
    touched = Touches()
    grid = {a.var for a in kernel.grid}
    _walk(kernel.body, {}, grid, (), False, None, touched)
    return touched


def _walk(
    body: Body,
    known: Mapping[Var, Expr],
    counted: set[Var],
    within: tuple[ins.For, ...],
    choice: bool,
    uncounted: frozenset[Var] | None,
    made: Touches,
) -> None:
    """The accesses of a body; `uncounted` are the loops' variables inside of what may not run or runs
    how often nobody knows, None outside of any.
    """
    known = dict(known)
    asserted: list[Expr] = []
    for stmt in body:
        match stmt:
            case ins.Let(var, value):
                known[var] = substitute(value, known)
            case ins.Assert(condition):
                asserted.append(substitute(condition, known))
            case ins.For():
                start, stop, step = (
                    simplify(substitute(e, known)) for e in (stmt.start, stmt.stop, stmt.step)
                )
                guarded = is_runtime(stop, counted)
                most = upper(stop, counted, asserted) if guarded else stop
                dynamic = most is None or is_runtime(start, counted) or is_runtime(step, counted)
                guarded = guarded or dynamic
                if most is not None and not dynamic:
                    made.ranges[stmt.var] = _range(start, most, step)
                inner = counted if dynamic else counted | {stmt.var}
                own = uncounted
                if dynamic or own is not None:
                    own = (own or frozenset()) | {stmt.var}
                _walk(stmt.body, known, inner, (*within, stmt), choice or guarded, own, made)
            case ins.Load() | ins.Store() | ins.AtomicRmw() | ins.Gather() | ins.Scatter():
                if stmt.region.memory.role is not Role.BUFFER:
                    starts = tuple(substitute(a.start, known) for a in stmt.region.axes)
                    moves = any(free_vars(e) & (uncounted or frozenset()) for e in starts)
                    made.found.append(Touch(stmt, starts, within, choice, moves))
            case _:
                for part in bodies(stmt):
                    _walk(part, known, counted, within, True, uncounted or frozenset(), made)


def _range(start: Expr, stop: Expr, step: Expr) -> Range:
    by, length = constant(step), constant(ex.Binary("sub", stop, start, INDEX))
    if not isinstance(by, int) or by == 0 or not isinstance(length, int):
        return Range(start, 1, None)
    return Range(start, by, max(0, -(-length // by)))


def reads_by_iteration(loop: ins.For) -> bool:
    """Whether a loop reads or writes tensors at places that differ between its iterations."""
    turning: set[Var] = {loop.var}
    for stmt in walk(loop.body):
        if isinstance(stmt, ins.For):
            turning.add(stmt.var)
        if isinstance(stmt, ins.Let) and free_vars(stmt.value) & turning:
            turning.add(stmt.var)
        for region in regions(stmt):
            tensor = region.memory.role is not Role.BUFFER
            if tensor and any(free_vars(a.start) & turning for a in region.axes):
                return True
    return False


Window = tuple[tuple[Expr, int], ...]
"""For each axis where the box begins, and its extent."""


def window(found: Iterable[Touch], ranges: Mapping[Var, Range], kept: set[Var]) -> Window:
    """The box around accesses to one tensor, over the variables that are kept.

    An axis along which accesses do not lie at known distances is taken whole.
    """
    found = list(found)
    memory = found[0].region.memory
    return tuple(_axis(found, k, ranges, kept, memory) for k in range(memory.rank))


def _axis(
    found: list[Touch], k: int, ranges: Mapping[Var, Range], kept: set[Var], memory: Memory
) -> tuple[Expr, int]:
    whole = ex.index(0), int(constant(memory.shape[k]) or 0)
    low: Expr | None = None
    size = 0
    for touch in found:
        axis = touch.region.axes[k]
        if k in numbered(touch.stmt):
            return whole
        own = _ends(touch.starts[k], ranges, kept)
        if own is None:
            return whole
        first, length = own[0], own[1] + (axis.size - 1) * axis.step + 1
        if low is None:
            low, size = first, length
            continue
        apart = difference(first, low)
        if apart is None:
            return whole
        low, size = (first if apart < 0 else low), max(size, apart + length) - min(apart, 0)
    assert low is not None
    start = constant(low)
    if isinstance(start, int):  # what lies outside of the tensor is not there
        begin = max(0, start)
        return ex.index(begin), max(1, min(start + size, whole[1]) - begin)
    return low, size


def _ends(start: Expr, ranges: Mapping[Var, Range], kept: set[Var]) -> tuple[Expr, int] | None:
    """The least that an index may be, over variables that are kept, and how much more it may be."""
    if any(True for _ in values_in(start)):
        return None
    form = linear(start)
    span = 0
    for _ in range(len(ranges) + 1):
        inner = [a for a in form.terms if not free_vars(a) <= kept]
        if not inner:
            return simplify(to_expr(form)), span
        atom, factor = inner[0], form.terms[inner[0]]
        known = ranges.get(atom) if isinstance(atom, Var) else None
        if known is None or known.count is None:
            return None
        reach = factor * known.step * max(0, known.count - 1)
        first = linear(known.start).scale(factor)
        form = form - Linear({atom: factor}) + first + Linear(constant=min(0, reach))
        span += abs(reach)
    return None


def is_multiple(start: Expr, ranges: Mapping[Var, Range], unit: int) -> bool:
    """Whether an index is a multiple of a number, whatever the variables of loops and grid are."""
    if any(True for _ in values_in(start)):
        return False
    form = linear(start)
    for _ in range(len(ranges) + 1):
        odd = [a for a, factor in form.terms.items() if factor % unit]
        if not odd:
            return form.constant % unit == 0
        known = ranges.get(odd[0]) if isinstance(odd[0], Var) else None
        factor = form.terms[odd[0]]
        if known is None or factor * known.step % unit:
            return False
        form = form - Linear({odd[0]: factor}) + linear(known.start).scale(factor)
    return False


def values(axis: GridAxis) -> range:
    """The values of an axis whose bounds are constants."""
    bounds = (axis.start, axis.stop, axis.step)
    return range(*(int(constant(e) or 0) for e in bounds))
