"""Tile scheduler: which turns each multiprocessor takes, so that all are busy to the end.

    grid m in range(0, M, 128), n in range(0, N, 256)         (T turns, a loop of S steps in each)
->
    grid block in range(0, 132)
    for round in range(0, rounds) { turn number round * 132 + block ... }

Turns are numbered in groups of rows (`rasterization`), so that those of one round share what they read.
After the whole rounds T % 132 turns are left. Where that pays, each of these is given to several
blocks, which take equal shares of its steps and add up what they have (`stream_k`): in one more round
as many shares as there are blocks for, in two or three rounds smaller ones. Shares begin at the same
steps in all turns, so that blocks still read the same parts of the operands at one time. Dealing steps
to all blocks to the last one (Osama et al., Stream-K, PPoPP 2023) loses that, and was slower on an H200
wherever the operands do not fit into the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf

from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import (
    add,
    cdiv,
    div,
    largest,
    least,
    mod,
    mul,
    select,
    sub,
)
from dslc.compiler.ir.expr import TRUE, Binary, Const, Convert, Expr, Var, free_vars, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import GridAxis, Kernel
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.traverse import Body
from dslc.compiler.passes.pipelining.cluster_multicast import Cluster
from dslc.compiler.passes.tile_scheduling.rasterization import rows_in_group

_ROUNDS, _MOST = 3, 16  # of shares; shares of a turn, at most


@dataclass(frozen=True, slots=True)
class Sharing:
    """Whether and how blocks may share a turn of `steps`; a part costs as much as `cost` of these.

    That is what it takes to store a part, and to add it.
    """

    steps: int = 1
    cost: float = inf

    def best(self, rest: int, units: int) -> int:
        """The number of shares with which so many turns end first on so many multiprocessors."""
        most = max(1, min(_MOST, self.steps))
        ways = (s for s in range(1, most + 1) if s == 1 or rest * s <= _ROUNDS * units)
        return min(ways, key=lambda s: self._time(rest, s, units))

    def _time(self, rest: int, shares: int, units: int) -> float:
        if shares == 1:
            return self.steps
        rounds = ceil_div(rest * shares, units)
        return rounds * ceil_div(self.steps, shares) + self.cost * (rounds + shares)


@dataclass(frozen=True, slots=True)
class Part:
    """A turn of the grid, or a share of one: steps [first, end) of its loop.

    `lets` define what is said here, the grid's variables `at` among it. Of a turn that is not
    `is_whole`, `rest` is the number among those that are shared, and `number` that of the part. Blocks
    of a cluster for which there is no turn do another's again, which is not their `own`.
    """

    lets: Body
    at: tuple[Expr, ...]
    first: Expr
    end: Expr
    rest: Expr
    number: Expr
    is_whole: Expr
    own: Expr = TRUE


class TileScheduler:
    """The schedule of one kernel on `units` multiprocessors, whose turns may be shared.

    The blocks of a cluster take neighbouring turns: they count as one unit, and these as one turn.
    """

    def __init__(
        self,
        kernel: Kernel,
        loop: ins.For,
        units: int,
        sharing: Sharing,
        taken: set[str],
        cluster: Cluster | None = None,
    ) -> None:
        self.kernel, self.blocks, self.taken, self.cluster = kernel, units, taken, cluster
        self.size = cluster.size if cluster else 1
        self.units = units = units // self.size
        self.grid_block = Var(fresh_name("block", taken), INDEX)
        self.lets: list[Stmt] = []  # at the begin of a block
        self.block: Expr = self.grid_block
        if cluster is not None:
            self.lets.append(ins.Let(cluster.number, Convert(mod(self.block, self.size), I32)))
            self.block = self._named("team", div(self.block, self.size))
        self.counts = [self._named("count", self._count(n, a)) for n, a in enumerate(kernel.grid)]
        turns = self._named("turns", reduce(mul, self.counts))
        if len(self.counts) > 2:
            self.plane = self._named("plane", mul(*self.counts[-2:]))
        self.steps = self._named("steps", _count(loop))
        self.whole = self._named("whole", div(turns, units))
        self.rest = self._named("rest", sub(turns, mul(self.whole, units)))
        self.ways = self._named("ways", largest(self.rest, 1))  # never 0, for divisions
        # The shares with which the rest ends first, and the steps of each.
        best = [sharing.best(rest, units) for rest in range(1, units)] or [1]
        self.most = max(best)
        shares, known = self._by_rest(best), constant(self.steps)
        if known is not None:
            self.shares = self._named("shares", shares)
            self.each = self._named("each", self._by_rest([int(known) // s for s in best]))
        else:
            self.shares = self._named("shares", least(shares, largest(self.steps, 1)))
            self.each = self._named("each", div(self.steps, self.shares))
        self.left = self._named("left", sub(self.steps, mul(self.each, self.shares)))
        parts = self._named("parts", mul(self.rest, self.shares))
        more = cdiv(largest(sub(parts, self.block), 0), units)
        self.rounds = self._named("rounds", add(self.whole, more))

    @property
    def is_shared(self) -> bool:
        """Whether blocks may share a turn."""
        return self.most > 1

    @property
    def most_parts(self) -> int:
        """How many parts there are at most."""
        return _ROUNDS * self.units * self.size

    @property
    def grid(self) -> tuple[GridAxis, ...]:
        """As many blocks as there are multiprocessors, or as can have work."""
        turns = reduce(mul, (self._count(n, a) for n, a in enumerate(self.kernel.grid)))
        blocks = mul(least(self.units, mul(turns, self.most)), self.size)
        return (GridAxis(self.grid_block, index(0), simplify(blocks), index(1)),)

    def member(self, number: Expr) -> Expr:
        """The block's own number of what its cluster has as `number`."""
        if self.cluster is None:
            return number
        return add(mul(number, self.size), self.cluster.rank)

    def sharer(self, share: Expr, rest: Expr) -> Expr:
        """The number of a part: that of a share of a turn."""
        return self.member(add(mul(share, self.rest), rest))

    def part(self, round_: Var) -> Part:
        """What a block does in a round."""
        lets: list[Stmt] = []
        number = add(mul(round_, self.units), self.block)
        if not self.is_shared:
            at, own = self._place(self._named("turn", number, lets), lets)
            return Part(tuple(lets), at, index(0), self.steps, index(0), index(0), TRUE, own)
        whole = self._named("whole_turn", Binary("lt", round_, self.whole, BOOL), lets)
        beyond = sub(number, mul(self.whole, self.units))
        part = self._named("part", largest(beyond, 0), lets)
        share = self._named("share", div(part, self.ways), lets)
        rest = self._named("rest_turn", sub(part, mul(share, self.ways)), lets)
        after = add(mul(self.whole, self.units), rest)
        turn = self._named("turn", select(whole, number, after), lets)
        end = self._named("end_step", select(whole, self.steps, self._start(share, 1)), lets)
        first = select(whole, 0, self._start(share, 0))
        first = self._named("first_step", first, lets)
        at, own = self._place(turn, lets)
        is_whole = Binary("eq", sub(end, first), self.steps, BOOL)
        return Part(tuple(lets), at, first, end, rest, self.member(part), is_whole, own)

    def _start(self, share: Expr, after: int) -> Expr:
        """The first step of a share, or of the one after: the first ones take what is left over."""
        here = add(share, after)
        return add(mul(here, self.each), least(here, self.left))

    def _by_rest(self, values: Sequence[int]) -> Expr:
        """A look-up: values for 1, 2, ... turns that are left, by ranges."""
        chosen: Expr = index(values[-1])
        for rest in range(len(values) - 1, 0, -1):
            if values[rest - 1] != values[rest]:
                below = Binary("le", self.rest, index(rest), BOOL)
                chosen = select(below, values[rest - 1], chosen)
        return chosen

    def _place(self, turn: Expr, lets: list[Stmt]) -> tuple[tuple[Expr, ...], Expr]:
        """The grid's variables in a turn, the last two in groups of rows; whether it is own."""
        axes, counts = self.kernel.grid, self.counts
        digits: list[Expr] = []
        if len(axes) > 1:
            high, wide = list(map(self._extent, range(len(axes))))[-2:]
            rows, columns = counts[-2:]
            inside = turn
            if len(axes) > 2:
                inside = self._named("inside", mod(turn, self.plane), lets)
                turn = self._named("outer", div(turn, self.plane), lets)
            group = rows_in_group(self.units, high, wide)
            first = mul(div(div(inside, columns), group), group)
            first = self._named("strip", first, lets)
            height = self._named("height", least(sub(rows, first), group), lets)
            place = self._named("place", sub(inside, mul(first, columns)), lets)
            digits = [div(place, height), add(first, mod(place, height))]
        for count in reversed(counts[: len(axes) - len(digits)]):
            digits.append(mod(turn, count))
            turn = div(turn, count)
        digits.reverse()
        own: Expr = TRUE
        if self.cluster is not None:
            along, axis = self.cluster.axis, axes[self.cluster.axis]
            digits[along] = self.member(digits[along])
            if not self._is_even(axis):
                every = _count(axis)
                own = Binary("lt", digits[along], every, BOOL)
                own = self._named("own", own, lets)
                digits[along] = least(digits[along], sub(every, 1))
        pairs = zip(axes, digits, strict=True)
        named = [(a, self._named(f"{a.var.name}_turn", digit, lets)) for a, digit in pairs]
        return tuple(simplify(add(a.start, mul(digit, a.step))) for a, digit in named), own

    def _is_even(self, axis: GridAxis) -> bool:
        """Whether clusters divide the axis."""
        number = constant(simplify(_count(axis)))
        return number is not None and number % self.size == 0

    def _along(self, number: int) -> int:
        """How many blocks of a cluster lie along an axis."""
        return self.size if self.cluster is not None and number == self.cluster.axis else 1

    def _extent(self, number: int) -> float:
        """The elements of a turn along an axis, or of a cluster's turns."""
        return float(constant(self.kernel.grid[number].step) or 1) * self._along(number)

    def _count(self, number: int, axis: GridAxis) -> Expr:
        """How many turns there are along an axis, or clusters of them."""
        turns = _count(axis)
        return cdiv(turns, self.size) if self._along(number) > 1 else turns

    def _named(self, hint: str, value: Expr, lets: list[Stmt] | None = None) -> Expr:
        """A number of turns, steps or blocks by a name: 32 bits, whose making nobody need look into."""
        value = simplify(value)
        if isinstance(value, Const | Var):
            return value
        dtype = I32 if value.dtype == INDEX else value.dtype
        var = Var(fresh_name(hint, self.taken), dtype)
        converted = Convert(value, I32) if dtype == I32 else value
        (self.lets if lets is None else lets).append(ins.Let(var, converted))
        return Convert(var, INDEX) if dtype == I32 else var


def ceil_div(x: int, y: int) -> int:
    """x / y, rounded up."""
    return -(-x // y)


def is_even(kernel: Kernel, loop: ins.For) -> bool:
    """Whether all turns of the grid have as many steps, forward, by constants."""
    axes: Sequence[GridAxis | ins.For] = (*kernel.grid, loop)
    if not kernel.grid or any((constant(a.step) or 0) <= 0 for a in axes):
        return False
    known = set(kernel.dims)
    return all(free_vars(e) <= known for a in axes for e in (a.start, a.stop))


def _count(axis: GridAxis | ins.For) -> Expr:
    return largest(cdiv(sub(axis.stop, axis.start), axis.step), 0)
