"""Whether two accesses of one tensor need a barrier between them, and among which threads.

None is needed where they are proved to touch no element in common, or where the layouts of both say
that one thread touches each. A slice's starts are compared as sums (`scalar_facts`): a constant
distance gives the common elements exactly, one that is known modulo a number at least the few distances
at which slices meet. Along an axis of which nothing is known it is enough that the thread does not
depend on it.

An access in a later iteration of a loop is proved with other names for all that the loop makes, and a
greater count of iterations: `z[n : n + 64]` of the iteration n + 64 * (t + 1) meets nothing of the
iteration n's.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from dslc.compiler.analysis.proof import Prover
from dslc.compiler.analysis.scalar_facts import Facts
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, linear
from dslc.compiler.ir.expr import Expr, Read, Var, map_children
from dslc.compiler.ir.instructions import Carried
from dslc.compiler.ir.traverse import Name, inner_names, results, walk
from dslc.compiler.ir.values import AxisSlice, Value
from dslc.compiler.passes.memory.ordered_accesses import Access, Kind, Loop

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64]


class Need(enum.IntEnum):
    """Which threads have to meet between two accesses."""

    NONE = 0
    WARP = 1
    BLOCK = 2


class Relations:
    """The needs of pairs of accesses of a kernel with so many threads, in warps of so many."""

    def __init__(self, threads: int, warp: int) -> None:
        self.warp = warp
        self.most = Need.WARP if threads <= warp else Need.BLOCK
        self._known: dict[tuple[Access, Access, Loop | None], Need] = {}
        self._varying: dict[Loop, frozenset[Name]] = {}

    def need(self, a: Access, b: Access, loop: Loop | None) -> Need:
        """What is needed from an access to a later one, in a later iteration if a loop is given."""
        key = (a, b, loop)
        if key not in self._known:
            self._known[key] = min(self._need(a, b, loop), self.most)
        return self._known[key]

    def _need(self, a: Access, b: Access, loop: Loop | None) -> Need:
        kinds = {a.kind, b.kind}
        if a.memory is not b.memory or kinds in ({Kind.READ}, {Kind.ADD}):
            return Need.NONE
        meeting = None if a.anything or b.anything else self._meeting(a, b, loop)
        if meeting is None:
            return Need.BLOCK
        if any(m == [] for m in meeting):
            return Need.NONE
        if _is_one(a, b, meeting, 1):
            return Need.NONE
        return Need.WARP if _is_one(a, b, meeting, self.warp) else Need.BLOCK

    def _meeting(self, a: Access, b: Access, loop: Loop | None) -> list[list[int] | None]:
        """For each axis the distances from a's start to b's at which they meet; None for any."""
        later = _Later(frozenset() if loop is None else self._varying_in(loop))
        prover: Prover | None = None
        numbers: list[list[int] | None] = []
        for axis, (x, y) in enumerate(zip(a.region.axes, b.region.axes, strict=True)):
            if axis in (*a.gathered, *b.gathered):
                numbers.append(None)
                continue
            distance = later.form(b.facts.form(y.start)) - a.facts.form(x.start)
            if distance.is_constant:
                numbers.append(_meet(range(distance.constant, distance.constant + 1), x, y))
                continue
            prover = prover or _prover(a, b, loop, later)
            numbers.append(_distances(prover, distance, x, y))
        return numbers

    def _varying_in(self, loop: Loop) -> frozenset[Name]:
        """The names that stand for something else in another iteration."""
        if loop not in self._varying:
            names = {n for s in walk((loop,)) for n in (*inner_names(s), *results(s))}
            own = set(results(loop))  # which are made after the loop
            counts = {Var(f"{s.var.name}#", INDEX) for s in walk((loop,)) if isinstance(s, ins.For)}
            self._varying[loop] = frozenset((names - own) | counts)
        return self._varying[loop]


class _Later:
    """Expressions of a later iteration: every name that varies is another one."""

    def __init__(self, varying: frozenset[Name]) -> None:
        self.varying = varying
        self._reads: dict[Value, Var] = {}

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Var):
            return Var(f"{expr.name}'", expr.dtype) if expr in self.varying else expr
        if isinstance(expr, Read):
            if expr.value not in self.varying:
                return expr
            number = len(self._reads)
            return self._reads.setdefault(expr.value, Var(f"read {number}'", expr.dtype))
        return map_children(expr, self.expr)

    def form(self, form: Linear) -> Linear:
        if not self.varying:
            return form
        total = Linear(constant=form.constant)
        for atom, k in form.terms.items():
            total += linear(self.expr(atom)).scale(k)
        return total


def _prover(a: Access, b: Access, loop: Loop | None, later: _Later) -> Prover:
    """What holds of both places."""
    relations = list(a.facts.relations)
    relations += [r for r in map(later.form, b.facts.relations) if r not in relations]
    residues = dict(a.facts.residues)
    residues.update((later.expr(atom), r) for atom, r in b.facts.residues.items())
    if loop is not None:
        relations += _advances(a.facts, loop, later)
    return Prover(relations, residues)


def _advances(facts: Facts, loop: Loop, later: _Later) -> Iterator[Linear]:
    """By how much at least the scalars of a loop are further on in a later iteration."""
    one = Linear(constant=1)
    if isinstance(loop, ins.For):
        count = Var(f"{loop.var.name}#", INDEX)
        yield later.form(Linear({count: 1})) - Linear({count: 1}) - one
        here, step = facts.form(loop.var), facts.form(loop.step)
        if count not in here.terms and facts.nonnegative(step - one):
            yield later.form(here) - here - step
    for c in loop.carried:
        change = _change(facts, loop, c)
        if change is not None:
            assert isinstance(c.inner, Var)
            grown = later.form(Linear({c.inner: 1})) - Linear({c.inner: 1})
            yield (grown if change > 0 else -grown) - Linear(constant=abs(change))


def _change(facts: Facts, loop: Loop, c: Carried) -> int | None:
    """By what a carried scalar changes in every iteration, if that is a number other than 0."""
    if isinstance(c.inner, Value) or isinstance(c.yielded, Value) or c.inner.dtype != INDEX:
        return None
    inside = facts.copy()
    for stmt in loop.body:
        if isinstance(stmt, ins.Let):
            inside.define(stmt.var, stmt.value)
    change = inside.form(c.yielded) - Linear({c.inner: 1})
    return change.constant if change.is_constant and change.constant else None


def _distances(prover: Prover, distance: Linear, x: AxisSlice, y: AxisSlice) -> list[int] | None:
    """The distances at which two slices may meet, where there is at most one."""
    ahead, behind = (x.count - 1) * x.step, (y.count - 1) * y.step
    one = Linear(constant=1)
    beyond = distance - Linear(constant=ahead) - one
    before = -distance - Linear(constant=behind) - one
    if prover.nonnegative(beyond) or prover.nonnegative(before):
        return []
    modulus, residue = prover.congruence(distance)
    if modulus <= 1:
        return None
    first = -behind + (residue + behind) % modulus
    distances = _meet(range(first, ahead + 1, modulus), x, y)
    return distances if len(distances) < 2 else None


def _meet(distances: range, x: AxisSlice, y: AxisSlice) -> list[int]:
    return [d for d in distances if _common(d, x, y)[0].size]


def _common(distance: int, x: AxisSlice, y: AxisSlice) -> tuple[Numbers, Numbers]:
    """The elements that are in both slices, by their numbers in each."""
    import numpy as np

    left = np.arange(x.count) * x.step
    right = np.arange(y.count) * y.step + distance
    _, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return i, j


def _is_one(a: Access, b: Access, meeting: list[list[int] | None], group: int) -> bool:
    """Whether one group of so many threads moves each common element for both."""
    x, y = a.owners(group), b.owners(group)
    if x is None or y is None:
        return False
    for axis, distances in enumerate(meeting):
        if distances is None:  # whichever elements they are, the group must be the same
            if (x != x.take([0], axis)).any() or (y != y.take([0], axis)).any():
                return False
            x, y = x.take([0], axis), y.take([0], axis)
        else:
            i, j = _common(distances[0], a.region.axes[axis], b.region.axes[axis])
            x, y = x.take(i, axis), y.take(j, axis)
    return bool(((x == y) & (x >= 0)).all())
