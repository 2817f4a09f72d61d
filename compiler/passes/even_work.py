"""Which turns each multiprocessor takes, so that all are busy to the end.

    grid m in range(0, M, 128), n in range(0, N, 256)         (T turns, a loop of S steps in each)
->
    grid block in range(0, 132)
    for round in range(0, rounds) { turn number round * 132 + block ... }

Turns are numbered in strips (`strips`), so that those of one round share what they read. The last
round has only the rest, T % 132 turns. Where that is less than half of the blocks, each of these turns
is given to several, which take equal shares of its steps and add up what they have (`parts`). Shares
begin at the same steps in all turns, so that blocks still read the same parts of the operands at one
time. Dealing steps to all blocks to the last one (Osama et al., Stream-K, PPoPP 2023) loses that, and
was slower on an H200 wherever the operands do not fit into the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant, simplify
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, Select, Var, free_vars, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import GridAxis, Kernel
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.traverse import Body
from dslc.compiler.passes.strips import strip_of


@dataclass(frozen=True, slots=True)
class Part:
    """A turn of the grid, or a share of one: steps [first, end) of its loop.

    `lets` define what is said here: the grid's variables `at`, and `done`, the steps that the block has
    taken before. Of a turn that is not `is_whole`, `rest` is the number among those that are shared.
    """

    lets: Body
    at: tuple[Expr, ...]
    first: Expr
    end: Expr
    done: Expr
    rest: Expr
    is_whole: Expr


class EvenWork:
    """The schedule of one kernel on `units` multiprocessors; `most` blocks share a turn."""

    def __init__(
        self, kernel: Kernel, loop: ins.For, units: int, most: int, taken: set[str]
    ) -> None:
        self.kernel, self.units, self.most, self.taken = kernel, units, most, taken
        self.block = Var(fresh_name("block", taken), INDEX)
        self.lets: list[Stmt] = []  # at the begin of a block
        self.counts = [self._named("count", _count(a)) for a in kernel.grid]
        turns = reduce(mul, self.counts)
        self.steps = self._named("steps", _count(loop))
        self.whole = self._named("whole", div(turns, index(units)))
        self.rest = self._named("rest", sub(turns, mul(self.whole, index(units))))
        one = index(1)
        self.ways = largest(self.rest, one)  # never 0, for divisions
        # A share has a step at least, and less than all where there are several.
        shares = least(least(div(index(units), self.ways), index(most)), self.steps)
        shares = largest(shares, one)
        self.shares = self._named("shares", shares) if most > 1 else one
        last = Binary("lt", self.block, mul(self.rest, self.shares), BOOL)
        self.rounds = self._named("rounds", add(self.whole, select(last, one, index(0))))

    @property
    def grid(self) -> tuple[GridAxis, ...]:
        """As many blocks as there are multiprocessors, or as can have work."""
        turns = reduce(mul, map(_count, self.kernel.grid))
        blocks = least(index(self.units), mul(turns, index(self.most)))
        return (GridAxis(self.block, index(0), simplify(blocks), index(1)),)

    def sharer(self, share: Expr, rest: Expr) -> Expr:
        """The block that has a share of a turn."""
        return add(mul(share, self.rest), rest)

    def part(self, round_: Var) -> Part:
        """What a block does in a round."""
        lets: list[Stmt] = []
        number, done = add(mul(round_, index(self.units)), self.block), mul(round_, self.steps)
        if self.most == 1:
            at = self._place(self._named("turn", number, lets), lets)
            true = Const(True, BOOL)
            return Part(tuple(lets), at, index(0), self.steps, done, index(0), true)
        whole = self._named("whole_turn", Binary("lt", round_, self.whole, BOOL), lets)
        rest = self._named("rest_turn", mod(self.block, self.ways), lets)
        share = self._named("share", div(self.block, self.ways), lets)
        after = add(mul(self.whole, index(self.units)), rest)
        turn = self._named("turn", select(whole, number, after), lets)
        first = select(whole, index(0), div(mul(share, self.steps), self.shares))
        beyond = div(mul(add(share, index(1)), self.steps), self.shares)
        end = self._named("end_step", select(whole, self.steps, beyond), lets)
        first = self._named("first_step", first, lets)
        at = self._place(turn, lets)
        is_whole = Binary("eq", sub(end, first), self.steps, BOOL)
        return Part(tuple(lets), at, first, end, done, rest, is_whole)

    def _place(self, turn: Expr, lets: list[Stmt]) -> tuple[Expr, ...]:
        """The grid's variables in a turn, those of the last two axes in strips."""
        axes, counts = self.kernel.grid, self.counts
        digits: list[Expr] = []
        if len(axes) > 1:
            high, wide = (constant(a.step) for a in axes[-2:])
            rows, columns = counts[-2:]
            inside = self._named("inside", mod(turn, mul(rows, columns)), lets)
            turn = div(turn, mul(rows, columns))
            strip = index(strip_of(self.units, float(high or 1), float(wide or 1)))
            first = mul(div(inside, mul(strip, columns)), strip)
            first = self._named("strip", first, lets)
            height = self._named("height", least(sub(rows, first), strip), lets)
            place = self._named("place", sub(inside, mul(first, columns)), lets)
            digits = [div(place, height), add(first, mod(place, height))]
        for count in reversed(counts[: len(axes) - len(digits)]):
            digits.append(mod(turn, count))
            turn = div(turn, count)
        pairs = zip(axes, reversed(digits), strict=True)
        named = [(a, self._named(f"{a.var.name}_turn", digit, lets)) for a, digit in pairs]
        return tuple(simplify(add(a.start, mul(digit, a.step))) for a, digit in named)

    def _named(self, hint: str, value: Expr, lets: list[Stmt] | None = None) -> Expr:
        """A number of turns, steps or blocks by a name: 32 bits, whose making nobody need look into."""
        value = simplify(value)
        if isinstance(value, Const | Var):
            return value
        dtype = I32 if value.dtype == INDEX else value.dtype
        var = Var(fresh_name(hint, self.taken), dtype)
        made = Convert(value, I32) if dtype == I32 else value
        (self.lets if lets is None else lets).append(ins.Let(var, made))
        return Convert(var, INDEX) if dtype == I32 else var


def is_even(kernel: Kernel, loop: ins.For) -> bool:
    """Whether all turns of the grid have as many steps, forward, by constants."""
    axes: Sequence[GridAxis | ins.For] = (*kernel.grid, loop)
    if not kernel.grid or any((constant(a.step) or 0) <= 0 for a in axes):
        return False
    known = set(kernel.dims)
    return all(free_vars(e) <= known for a in axes for e in (a.start, a.stop))


def _count(axis: GridAxis | ins.For) -> Expr:
    return largest(ceil(sub(axis.stop, axis.start), axis.step), index(0))


def add(x: Expr, y: Expr) -> Expr:
    """x + y."""
    return Binary("add", x, y, INDEX)


def sub(x: Expr, y: Expr) -> Expr:
    """x - y."""
    return Binary("sub", x, y, INDEX)


def mul(x: Expr, y: Expr) -> Expr:
    """x * y."""
    return Binary("mul", x, y, INDEX)


def div(x: Expr, y: Expr) -> Expr:
    """x // y."""
    return Binary("floordiv", x, y, INDEX)


def mod(x: Expr, y: Expr) -> Expr:
    """x % y."""
    return Binary("mod", x, y, INDEX)


def ceil(x: Expr, y: Expr) -> Expr:
    """x / y, rounded up."""
    return div(add(x, sub(y, index(1))), y)


def least(x: Expr, y: Expr) -> Expr:
    """The smaller one."""
    return Binary("min", x, y, INDEX)


def largest(x: Expr, y: Expr) -> Expr:
    """The larger one."""
    return Binary("max", x, y, INDEX)


def select(condition: Expr, x: Expr, y: Expr) -> Expr:
    """x where the condition holds, else y."""
    return Select(condition, x, y, INDEX)
