"""One row of scales for elements of several groups: a warning.

    for k in range(0, K, BK):
        w = x[k : k + BK] * s[k // G]

is right where a block lies within a group: `s[k // G]` is the group of its first element. With a step S
and BK elements every block does exactly if BK <= gcd(S, G): blocks begin at multiples of S, so that the
last one of a group begins gcd(S, G) before its end. Otherwise elements of the next groups are scaled
by the first one's row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd

from dslc.compiler.diagnostics import Diagnostic, Loc, Severity
from dslc.compiler.ir import Kernel, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import operands, tile_of, walk

_STOPS = (ins.Dot, ins.Reduce, ins.For, ins.If)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row taken at `counter // size`."""

    counter: ex.Var
    size: int
    loc: Loc | None


@dataclass(frozen=True, slots=True)
class _Block:
    """So many elements from the counter on."""

    counter: ex.Var
    extent: int


def rows_of_one_group(kernel: Kernel) -> Iterator[Diagnostic]:
    """A warning (DSL0233) for each row that meets a block of more than its group."""
    steps = _steps(kernel)
    known: dict[Value, frozenset[_Row | _Block]] = {}
    told: set[_Row] = set()
    for stmt in walk(kernel.body):
        taken: frozenset[_Row | _Block] = frozenset()
        if isinstance(stmt, ins.Load):
            taken = frozenset(_taken(stmt.region, stmt.loc, steps))
        elif not isinstance(stmt, _STOPS):
            sets = [known.get(v, frozenset()) for v in operands(stmt)]
            taken = frozenset().union(*sets)
            for row, block in _meeting(sets):
                if row not in told and block.extent > gcd(steps[row.counter], row.size):
                    told.add(row)
                    yield _warning(row, block)
        if (out := tile_of(stmt)) is not None:
            known[out] = taken


def _steps(kernel: Kernel) -> dict[ex.Var, int]:
    """The counters that begin at a multiple of their constant step, with it."""
    axes: list[tuple[ex.Var, ex.Expr, ex.Expr]] = [(a.var, a.start, a.step) for a in kernel.grid]
    loops = (s for s in walk(kernel.body) if isinstance(s, ins.For))
    axes += [(s.var, s.start, s.step) for s in loops]
    steps = {}
    for var, start, step in axes:
        first, by = constant(start), constant(step)
        if isinstance(first, int) and isinstance(by, int) and by > 0 and first % by == 0:
            steps[var] = by
    return steps


def _taken(region: Region, loc: Loc | None, steps: dict[ex.Var, int]) -> Iterator[_Row | _Block]:
    for axis in region.axes:
        match axis.start:
            case ex.Var() as counter if counter in steps and axis.size > 1:
                yield _Block(counter, (axis.size - 1) * axis.step + 1)
            case ex.Binary("floordiv", ex.Var() as counter, divisor) if axis.size == 1:
                size = constant(divisor)
                if counter in steps and isinstance(size, int) and size > 0:
                    yield _Row(counter, size, loc)


def _meeting(sets: Iterable[frozenset[_Row | _Block]]) -> Iterator[tuple[_Row, _Block]]:
    """Rows of one operand and blocks of another, over one counter."""
    listed = list(sets)
    for i, one in enumerate(listed):
        for other in (*listed[:i], *listed[i + 1 :]):
            for row in one:
                for block in other:
                    if not isinstance(row, _Row) or not isinstance(block, _Block):
                        continue
                    if row.counter == block.counter:
                        yield row, block


def _warning(row: _Row, block: _Block) -> Diagnostic:
    k = row.counter.name
    text = (
        f"the row of {k} // {row.size} is that of the first of {block.extent} elements, which may lie "
        f"in several groups of {row.size}"
    )
    hint = f"take at most {row.size} elements at a time, by a step that divides it: require G % BK == 0"
    return Diagnostic("DSL0233", text, row.loc, hint, severity=Severity.WARNING)
