"""Means and variances of rows, which the vector engine has in one pass over a row.

Before (tests/ir/row-moments/example.tir):

    %row = cast %x : f32[128, 512] `spatial(128, 1).local(1, 512)`
    %s = reduce sum %row, axis=1, keepdims : f32[128, 1] `spatial(128, 1)`
    %mean = div %s, %h : f32[128, 1] `spatial(128, 1)`
    %m = broadcast %mean : f32[128, 512] `spatial(128, 1).local(1, 512)`
    %c = sub %row, %m : f32[128, 512] `spatial(128, 1).local(1, 512)`
    %q = mul %c, %c : f32[128, 512] `spatial(128, 1).local(1, 512)`
    %s_1 = reduce sum %q, axis=1, keepdims : f32[128, 1] `spatial(128, 1)`
    %v = div %s_1, %h : f32[128, 1] `spatial(128, 1)`

After: the mean, and the mean of the squares of what is left when it is taken off, of the row as it is.

    %mean = reduce mean %x, axis=1, keepdims : f32[128, 1] `spatial(128, 1)`
    %v = reduce variance %x, axis=1, keepdims : f32[128, 1] `spatial(128, 1)`

Two passes of the scalar engine become one of the vector engine, so that it is done where the engines
are sooner through with a turn by it. Both sum in f32, in orders of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import ClassVar

from dslc.compiler.ir import Kernel, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import Body, bodies, operands, tile_of, walk
from dslc.compiler.passes.simplification.dead_code import remove_dead_code
from dslc.compiler.passes.trainium.select_instructions import (
    SelectInstructions,
    is_row_sum,
    number_of,
    widens,
)
from dslc.compiler.passes.trainium.turn_schedule import Shares
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import engines_of

_CLOSE = 2.0**-23  # a factor that divides by the length, rounded to f32


@dataclass(frozen=True, slots=True)
class RowMoments:
    """Takes means and variances of whole rows by statistics, in kernels without products."""

    target: Target
    name: ClassVar[str] = "row-moments"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with the moments that shorten a turn."""
        return map_kernels(program, self.kernel)

    def kernel(self, kernel: Kernel) -> Kernel:
        """One kernel of it."""
        if any(isinstance(s, ins.Dot) for s in walk(kernel.body)):
            return kernel
        moments = _Moments(kernel)
        body = moments.body(kernel.body)
        if not moments.any:
            return kernel
        changed = remove_dead_code(replace(kernel, body=body))
        return changed if self._taken(changed) < self._taken(kernel) else kernel

    def _taken(self, kernel: Kernel) -> tuple[float, float]:
        """Nanoseconds of a turn that the engine with most to do is taken, and all together."""
        selected = remove_dead_code(SelectInstructions().kernel(kernel))
        made = {v: s for s in walk(selected.body) if (v := tile_of(s)) is not None}
        shares = Shares.of_turn(selected.body, made, engines_of(self.target))
        times = shares.total.values()
        return round(max(times, default=0.0)), sum(times)


@dataclass(slots=True)
class _Moments:
    """Means over the length of a row, and those that are variances."""

    kernel: Kernel
    any: bool = False
    _made: dict[Value, Stmt] = field(default_factory=dict)
    _uses: Counter[Value] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for stmt in walk(self.kernel.body):
            self._uses.update(set(operands(stmt)))
            out = tile_of(stmt)
            if out is not None and not bodies(stmt):
                self._made[out] = stmt

    def body(self, body: Body) -> Body:
        """A body with both moments where the mean stood."""
        behind: dict[Stmt, tuple[Stmt, ...]] = {}
        here = set(body)
        for stmt in body:
            pair = self._variance(stmt)
            if pair is not None and pair[0] in here and pair[0] not in behind:
                mean, variance = pair
                x = self._narrow(variance.x)
                behind[mean] = tuple(
                    ins.Reduce(value, op, x, variance.axis, variance.keepdims, loc=at.loc)
                    for value, op, at in (
                        (tile_of(mean), "mean", mean),
                        (variance.out, "variance", stmt),
                    )
                    if value is not None
                )
                behind[stmt] = ()
                self.any = True
        changed: list[Stmt] = []
        for stmt in body:
            changed += behind[stmt] if stmt in behind else (self._nested(stmt),)
        return tuple(changed)

    def _nested(self, stmt: Stmt) -> Stmt:
        return replace(stmt, body=self.body(stmt.body)) if isinstance(stmt, ins.For) else stmt

    def _variance(self, stmt: Stmt) -> tuple[Stmt, ins.Reduce] | None:
        """The mean that a variance is taken about, and the variance as a reduction of the row."""
        squares = self._mean(stmt)
        if squares is None:
            return None
        square = self._made.get(squares.x)
        if not isinstance(square, ins.Binary) or square.op != "mul" or square.x is not square.y:
            return None
        centred = self._made.get(square.x)
        if not isinstance(centred, ins.Binary) or centred.op != "sub":
            return None
        spread = self._made.get(centred.y)
        taken = self._made.get(spread.x) if isinstance(spread, ins.Broadcast) else None
        total = None if taken is None else self._mean(taken)
        if taken is None or total is None or total.x is not centred.x:
            return None
        out = tile_of(stmt)
        assert out is not None
        if (total.axis, total.keepdims) != (squares.axis, squares.keepdims):
            return None
        return taken, replace(squares, out=out, op="variance", x=centred.x)

    def _mean(self, stmt: Stmt) -> ins.Reduce | None:
        """The sum over a row that a statement divides by the row's length."""
        if not isinstance(stmt, ins.Binary) or stmt.op not in ("div", "mul"):
            return None
        total, number = self._made.get(stmt.x), number_of(stmt.y, self._made)
        if number is None or not isinstance(total, ins.Reduce) or not is_row_sum(total):
            return None
        length = total.x.type.shape[total.axis]
        of_length = number == length if stmt.op == "div" else abs(number * length - 1) <= _CLOSE
        return total if of_length and self._uses[total.out] == 1 else None

    def _narrow(self, x: Value) -> Value:
        """The row before a cast that keeps every number: the engine reads any type of floats."""
        before = self._made.get(x)
        return before.x if isinstance(before, ins.Cast) and widens(before) else x
