"""Blocks of the code that is being written, and the scalars of each: loops, branches, hoisting.

Blocks around the innermost one are still open: what does not change in a loop goes to the end of one
that is ahead of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from dslc.codegen.chunks.tiles import Tiles
from dslc.codegen.cpu.places import Array, InRegisters
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, constant, linear, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, div, largest, mul, sub
from dslc.compiler.vector.building import Builder, Loop
from dslc.compiler.vector.values import Constant, Operand, Register


@dataclass(slots=True, eq=False)
class Scope:
    """A block: what was computed in it. Loads do not move ahead of a `fixed` one.

    Ahead of one that may never run, `maybe`, those of scratch memory move, which can always be read.
    """

    fixed: bool
    maybe: bool = False
    known: dict[object, Operand] = field(default_factory=dict)


class Blocks(Tiles[Operand, Array | InRegisters]):
    """The open blocks of a kernel's function, and its scalars."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel)
        self.b = Builder(name)
        self.scopes = [Scope(True)]
        self._made_at: dict[Operand, int] = {}

    # Blocks

    @property
    def level(self) -> int:
        """The number of blocks around what is written next."""
        return len(self.scopes) - 1

    @contextmanager
    def scope(self, *, fixed: bool = True, maybe: bool = False) -> Iterator[None]:
        """A block that the builder has begun."""
        self.scopes.append(Scope(fixed, maybe))
        yield
        self.scopes.pop()

    @contextmanager
    def ahead_of(self, level: int) -> Iterator[None]:
        """What is written goes to the end of an open block, ahead of those in it."""
        scopes, bodies = self.scopes, self.b.bodies
        self.scopes, self.b.bodies = scopes[: level + 1], bodies[: level + 1]
        yield
        self.scopes, self.b.bodies = scopes, bodies

    def recall(self, key: object) -> Operand | None:
        """What was computed in a block that is open."""
        for scope in reversed(self.scopes):
            found = scope.known.get(key)
            if found is not None:
                return found
        return None

    def remember(self, key: object, value: Operand) -> Operand:
        """A value of the innermost block."""
        self.scopes[-1].known[key] = value
        self._made_at[value] = min(self.level, self._made_at.get(value, self.level))
        return value

    def made_at(self, value: Operand) -> int:
        """The level of the outermost block that is known to have a value."""
        return 0 if isinstance(value, Constant) else self._made_at.get(value, self.level)

    def forget(self) -> None:
        """Memory changed: no chunk of a tile is known any longer."""
        for scope in self.scopes:
            scope.known = {k: v for k, v in scope.known.items() if not _is_chunk(k)}

    # Scalars

    def is_natural(self, form: Linear) -> bool:
        """Whether a sum is surely not negative: all its parts are not."""
        parts = all(self._never_negative(a) and k >= 0 for a, k in form.terms.items())
        return parts and form.constant >= 0

    def _never_negative(self, atom: ex.Expr) -> bool:
        if atom in self.natural:
            return True
        match atom:
            case ex.Binary("mul", x, y):
                return self._never_negative(x) and self._never_negative(y)
            case ex.Binary("floordiv" | "mod", x, ex.Const(value)) if value > 0:
                return atom.op == "mod" or self.is_natural(linear(x))
            case _:
                return False

    @abstractmethod
    def scalar(self, expr: ex.Expr) -> Operand:
        """A scalar expression in a register of its dtype."""

    def sum(self, form: Linear) -> Operand:
        """A sum of index variables."""
        return self.scalar(to_expr(form))

    # Loops and branches

    @contextmanager
    def loop(
        self,
        hint: str,
        start: ex.Expr,
        stop: ex.Expr,
        step: int = 1,
        carry: Sequence[Operand] = (),
        *,
        movable: bool = True,
        unroll: int = 1,
    ) -> Iterator[tuple[Linear, Loop]]:
        """A loop over whole steps from start up to stop; with `movable`, loads may move ahead of it.

        Its variable counts steps, so that what it gives is seen to be a multiple.
        """
        var = self.fresh(hint)
        count = simplify(div(sub(stop, start), step))
        with self.loop_over(
            var, ex.index(0), count, ex.index(1), carry, movable=movable, unroll=unroll
        ) as loop:
            yield linear(start) + Linear({var: step}), loop

    @contextmanager
    def steps(
        self, low: ex.Expr, high: ex.Expr, step: int, *, movable: bool = True
    ) -> Iterator[Linear]:
        """A loop over whole steps from low up to high."""
        with self.loop("i", low, high, step, movable=movable) as (at, _):
            yield at

    @contextmanager
    def loop_over(
        self,
        var: ex.Var,
        start: ex.Expr,
        stop: ex.Expr,
        step: ex.Expr,
        carry: Sequence[Operand] = (),
        *,
        movable: bool = True,
        unroll: int = 1,
    ) -> Iterator[Loop]:
        """The same over a variable of the program; its step is above 0."""
        by = constant(step)
        known = isinstance(by, int) and var.dtype == INDEX
        if known:
            begin, end = self.scalar(start), self.scalar(stop)
        else:
            count = simplify(cdiv(sub(_index(stop), _index(start)), _index(step)))
            begin, end, by = self.b.offset(0), self.scalar(largest(0, count)), 1
        assert isinstance(by, int)
        runs = constant(sub(_index(stop), _index(start)))
        maybe = runs is None or runs <= 0
        name = var.name
        made = self.b.loop(begin, end, by, carry, unroll=unroll, name=name)
        with made as loop, self.scope(fixed=not movable, maybe=maybe):
            if known:
                self.bind(var, loop.var)
            else:
                number = self.fresh("trip")
                self.bind(number, loop.var)
                here = add(_index(start), mul(number, _index(step)))
                self.bind(var, self.scalar(ex.Convert(here, var.dtype)))
            if self.is_natural(linear(_index(start))):
                self.natural.add(var)
            yield loop

    def when(self, condition: Operand, then: Callable[[], None]) -> None:
        """A part of the code that runs where a condition holds."""
        self.choose(condition, giving_nothing(then), None)

    def choose(
        self,
        condition: Operand,
        then: Callable[[], Sequence[Operand]],
        otherwise: Callable[[], Sequence[Operand]] | None,
    ) -> tuple[Register, ...]:
        """One of two parts; gives what it gives."""

        def part(body: Callable[[], Sequence[Operand]]) -> Callable[[], Sequence[Operand]]:
            def run() -> Sequence[Operand]:
                with self.scope():
                    return body()

            return run

        other = None if otherwise is None else part(otherwise)
        return self.b.if_(condition, part(then), other)


def giving_nothing(body: Callable[[], None]) -> Callable[[], Sequence[Operand]]:
    """A part of the code that gives no registers."""

    def run() -> Sequence[Operand]:
        body()
        return ()

    return run


def _index(expr: ex.Expr) -> ex.Expr:
    return expr if expr.dtype == INDEX else ex.Convert(expr, INDEX)


def _is_chunk(key: object) -> bool:
    return isinstance(key, tuple) and key[0] == "tile"
