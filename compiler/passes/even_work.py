"""Which turns each multiprocessor takes, so that all are busy to the end.

    grid m in range(0, M, 128), n in range(0, N, 256)         (T turns, a loop of S steps in each)
->
    grid block in range(0, 132)
    for round in range(0, rounds) { turn number round * 132 + block ... }

Turns are numbered in strips (`strips`), so that those of one round share what they read. The last
round has only T % 132 turns. Where they are worth it, their steps are dealt evenly: a block takes a run
of the S * (T % 132) steps, which lies in two turns at most, and the parts of a turn are added up
(Osama et al., Stream-K: Work-Centric Parallel Decomposition for Dense Matrix-Matrix Multiplication,
PPoPP 2023, with whole turns first). All of it is arithmetic on the block's number and the dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant, simplify
from dslc.compiler.ir.expr import Binary, Const, Expr, Select, Var, free_vars, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import GridAxis, Kernel
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.traverse import Body
from dslc.compiler.passes.strips import strip_of


@dataclass(frozen=True, slots=True)
class Part:
    """A turn of the grid, or a part of one: steps [first, end) of its loop.

    `lets` define what is said here: the grid's variables `at`, `slot`, which of a block's parts it is,
    and `rest`, the turn's number among those that are dealt by steps. `is_whole` tells the others.
    `done` are the steps that the block has taken before.
    """

    lets: Body
    at: tuple[Expr, ...]
    first: Expr
    end: Expr
    done: Expr
    slot: Expr
    rest: Expr
    is_whole: Expr


class EvenWork:
    """The schedule of one kernel on `units` multiprocessors.

    `added` is the time that adding up parts takes, in steps; None where parts cannot be added.
    """

    def __init__(
        self, kernel: Kernel, loop: ins.For, units: int, added: int | None, taken: set[str]
    ) -> None:
        self.kernel, self.units, self.added, self.taken = kernel, units, added, taken
        self.block = Var(fresh_name("block", taken), INDEX)
        self.lets: list[Stmt] = []  # at the begin of a block
        self.counts = [self._named("count", _count(a)) for a in kernel.grid]
        turns = reduce(mul, self.counts)
        self.steps = self._named("steps", largest(_count(loop), index(1)))
        self.whole = self._named("whole", div(turns, index(units)))
        self.rest = self._named("rest", sub(turns, mul(self.whole, index(units))))
        alone = div(add(sub(turns, self.block), index(units - 1)), index(units))
        if added is None:
            self.rounds = self._named("rounds", alone)
            return
        # Every block gets a step, and dealing takes less time than a round of whole turns.
        dealt = mul(self.rest, self.steps)
        enough = Binary("le", index(units), dealt, BOOL)
        pays = Binary("lt", dealt, mul(sub(self.steps, index(added)), index(units)), BOOL)
        self.is_dealt = self._named("is_dealt", Binary("and", enough, pays, BOOL))
        self.begin = self._named("begin", self.share(self.block))
        self.stop = self._named("stop", self.share(add(self.block, index(1))))
        self.turn = self._named("first_rest", div(self.begin, self.steps))
        last = div(sub(self.stop, index(1)), self.steps)
        parts = add(sub(last, self.turn), index(1))
        self.rounds = self._named("rounds", select(self.is_dealt, add(self.whole, parts), alone))

    @property
    def grid(self) -> tuple[GridAxis, ...]:
        """As many turns as there are multiprocessors."""
        return (GridAxis(self.block, index(0), index(self.units), index(1)),)

    def share(self, block: Expr) -> Expr:
        """The first of the dealt steps that a block takes."""
        return div(mul(block, mul(self.rest, self.steps)), index(self.units))

    def sharers(self, rest: Expr) -> tuple[Expr, Expr]:
        """The first and the last block that take steps of a dealt turn."""
        units, steps = index(self.units), self.steps
        first = mul(add(mul(rest, steps), index(1)), units)
        last = mul(add(rest, index(1)), units)
        one = index(1)
        return sub(ceil(first, mul(self.rest, steps)), one), sub(ceil(last, self.rest), one)

    def slot_of(self, block: Expr, rest: Expr) -> Expr:
        """Which of a block's parts that of this turn is, 0 or 1."""
        begins = Binary("eq", div(self.share(block), self.steps), rest, BOOL)
        return select(begins, index(0), index(1))

    def part(self, round_: Var) -> Part:
        """What a block does in a round."""
        lets: list[Stmt] = []
        number = add(mul(round_, index(self.units)), self.block)
        if self.added is None:
            at = self._place(self._named("turn", number, lets), lets)
            done, none, true = mul(round_, self.steps), index(0), Const(True, BOOL)
            return Part(tuple(lets), at, none, self.steps, done, none, none, true)
        early = Binary("lt", round_, self.whole, BOOL)
        undealt = Binary("eq", self.is_dealt, Const(False, BOOL), BOOL)
        whole = self._named("whole_turn", Binary("or", undealt, early, BOOL), lets)
        slot = self._named("slot_of_part", sub(round_, self.whole), lets)
        rest = self._named("rest_turn", add(self.turn, slot), lets)
        dealt = add(mul(self.whole, index(self.units)), rest)
        turn = self._named("turn", select(whole, number, dealt), lets)
        before = mul(rest, self.steps)
        first = select(whole, index(0), largest(sub(self.begin, before), index(0)))
        end = select(whole, self.steps, least(sub(self.stop, before), self.steps))
        first, end = self._named("first_step", first, lets), self._named("end_step", end, lets)
        at = self._place(turn, lets)
        dealt = add(mul(self.whole, self.steps), sub(add(before, first), self.begin))
        done = select(whole, mul(round_, self.steps), dealt)
        is_whole = Binary("eq", sub(end, first), self.steps, BOOL)
        return Part(tuple(lets), at, first, end, done, slot, rest, is_whole)

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
        places = [(a.var.name, add(a.start, mul(digit, a.step))) for a, digit in pairs]
        return tuple(self._named(name, place, lets) for name, place in places)

    def _named(self, hint: str, value: Expr, lets: list[Stmt] | None = None) -> Expr:
        value = simplify(value)
        if isinstance(value, Const | Var):
            return value
        var = Var(fresh_name(hint, self.taken), value.dtype)
        (self.lets if lets is None else lets).append(ins.Let(var, value))
        return var


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
