"""A herd: the cores that run a kernel, and which turns of the grid each of them runs.

One axis of the grid goes along the rows of the array and one along its columns, or the same along both.
Turns are dealt in rounds: of 10 turns four cores take 0 1 2 3, then 4 5 6 7, then 8 9 and two past the
end, whose tiles lie in the padding of the tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from dslc.codegen.aie.planning.evaluation import Numbers, Unknown, evaluate
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import linear
from dslc.compiler.ir.expr import Expr, Var, free_vars


@dataclass(frozen=True)
class Herd:
    """`rows` x `columns` cores. `axes` are the grid's variables, `counts` their turns.

    `row_axis` and `column_axis` number the axes that are dealt along rows and columns; None where only
    one core stands that way. In a `cascade` the cores of a column run the same turns, and each of them
    a share of the iterations of one loop: what they carry passes down the column, to row 0.
    """

    rows: int
    columns: int
    axes: tuple[Var, ...]
    counts: tuple[int, ...]
    bounds: tuple[tuple[int, int], ...]  # start and step of each axis
    row_axis: int | None
    column_axis: int | None
    cascade: ins.For | None = None

    @property
    def stages(self) -> int:
        """The cores that share a turn."""
        return 1 if self.cascade is None else self.rows

    def stage(self, row: int) -> int:
        """The place of a row in the cascade, counted from where it begins."""
        return 0 if self.cascade is None else self.rows - 1 - row

    @cached_property
    def factors(self) -> tuple[int, ...]:
        """Per axis, how many cores share its turns."""
        cores = [1] * len(self.counts)
        if self.row_axis is not None:
            cores[self.row_axis] *= self.rows
        if self.column_axis is not None:
            cores[self.column_axis] *= self.columns
        return tuple(cores)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Per axis, the turns that a core takes one after another."""
        return tuple(-(-n // f) for n, f in zip(self.counts, self.factors, strict=True))

    def digit(self, axis: int, row: int, column: int) -> int:
        """Which of the cores that share an axis stands at a row and column, counted from 0."""
        if axis == self.row_axis == self.column_axis:
            return column * self.rows + row
        if axis == self.row_axis:
            return row
        return column if axis == self.column_axis else 0

    @property
    def cores(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns, counted from 0, column by column."""
        return tuple((r, c) for c in range(self.columns) for r in range(self.rows))

    def spread(self, stream: Stream) -> tuple[bool, bool]:
        """Whether the cores of a column, and those of a row, have different objects of a stream."""
        if stream.output:
            return self.rows > self.stages, self.columns > 1
        along_rows = self.rows > 1 and self._differs(stream, self.row_axis, along_rows=True)
        along_columns = self.columns > 1 and self._differs(
            stream, self.column_axis, along_rows=False
        )
        return along_rows or self.is_dealt(stream), along_columns

    def columns_alike(self, stream: Stream) -> tuple[int, ...]:
        """A number for each column of cores; those of one number want the same objects of a stream.

        `h // 4` is the same for columns 0 to 3 where each takes a turn of h.
        """
        axis = self.column_axis
        distinct = tuple(range(self.columns))
        if stream.output:
            return distinct
        if axis is None or self.axes[axis] not in stream.variables or axis == self.row_axis:
            return distinct if self.spread(stream)[1] else (0,) * self.columns
        keys = []
        for column in distinct:
            atoms = self._atoms(stream, axis, column)
            if atoms is None:
                return distinct
            keys.append(atoms)
        return tuple(keys.index(key) for key in keys)

    def _atoms(self, stream: Stream, axis: int, column: int) -> bytes | None:
        """What a stream's expressions make of a column's turns; None where more bears on it."""
        turns = np.arange(self.steps[axis]) * self.columns + column
        values = {self.axes[axis]: self._value(axis, turns)}
        seen = b""
        for expr in stream.expressions:
            for atom in linear(expr).terms:
                variables = free_vars(atom)
                if self.axes[axis] in variables:
                    if atom is self.axes[axis] or variables != {self.axes[axis]}:
                        return None
                    try:
                        seen += np.broadcast_to(evaluate(atom, values), turns.shape).tobytes()
                    except Unknown:
                        return None
        return seen

    def members(self, stream: Stream) -> range:
        """The rows whose cores have objects of a stream: after a cascade only the last goes on."""
        return range(1) if self.cascade is not None and self._is_last(stream) else range(self.rows)

    def _is_last(self, stream: Stream) -> bool:
        return stream.output or all(a.after is self.cascade for a in stream.parts)

    def is_dealt(self, stream: Stream) -> bool:
        """Whether each stage of a cascade has objects of its own."""
        return self.cascade is not None and any(s.loop is self.cascade for s in stream.scope.chain)

    def _differs(self, stream: Stream, axis: int | None, *, along_rows: bool) -> bool:
        """Whether objects depend on which core along rows, or columns, takes a turn of an axis.

        `h // 4` is the same for four cores that take turns 0 1 2 3, then 4 5 6 7.
        """
        if axis is None or self.axes[axis] not in stream.variables:
            return False
        return any(
            self.axes[axis] in free_vars(e) and self._moves(e, axis, along_rows=along_rows)
            for e in stream.expressions
        )

    def _moves(self, expr: Expr, axis: int, *, along_rows: bool) -> bool:
        form = linear(expr)
        if self.axes[axis] in form.terms:
            return True
        own = [a for a in form.terms if self.axes[axis] in free_vars(a)]
        if any(free_vars(a) != {self.axes[axis]} for a in own):
            return True
        cores = (self.columns, self.rows) if axis == self.row_axis == self.column_axis else (-1,)
        turns = np.arange(self.steps[axis] * self.factors[axis]).reshape(self.steps[axis], *cores)
        values = {self.axes[axis]: self._value(axis, turns)}
        place = -1 if along_rows or len(cores) == 1 else -2
        try:
            terms = [np.broadcast_to(evaluate(a, values), turns.shape) for a in own]
        except Unknown:  # a scalar of the launch is in it: whoever lists the offsets says so
            return True
        return any((np.diff(f, axis=place) != 0).any() for f in terms)

    def _value(self, axis: int, turns: Numbers) -> Numbers:
        """The value of an axis' variable in turns of it."""
        start, step = self.bounds[axis]
        return start + turns * step

    @property
    def turns(self) -> int:
        """The turns of a core."""
        total = 1
        for n in self.steps:
            total *= n
        return total


def turn_counts(kernel: Kernel) -> tuple[int, ...]:
    """The turns along each axis of the grid, whose bounds are known."""
    counts = []
    for axis in kernel.grid:
        start, stop, step = (int(evaluate(e, {})) for e in (axis.start, axis.stop, axis.step))
        counts.append(max(0, -((start - stop) // step)))
    return tuple(counts)


def herds(
    kernel: Kernel, rows: int, columns: int, cascade: ins.For | None = None
) -> Iterator[Herd]:
    """Every herd that could run a kernel on an array of so many rows and columns of cores.

    `cascade` is a loop that the cores of a column may share, if there is one.
    """
    counts = turn_counts(kernel)
    axes = tuple(a.var for a in kernel.grid)
    bounds = tuple((int(evaluate(a.start, {})), int(evaluate(a.step, {}))) for a in kernel.grid)
    if cascade is not None:
        for along in (None, *range(len(counts))):
            for c in _downto(columns) if along is not None else (1,):
                if (c == 1) == (along is None) and (along is None or c <= counts[along]):
                    for r in _downto(rows)[:-1]:
                        yield Herd(r, c, axes, counts, bounds, None, along, cascade)
    seen = set()
    for along_rows in (None, *range(len(counts))):
        for along_columns in (None, *range(len(counts))):
            for r in _downto(rows) if along_rows is not None else (1,):
                for c in _downto(columns) if along_columns is not None else (1,):
                    if (r == 1) == (along_rows is not None) or (
                        (c == 1) == (along_columns is not None)
                    ):
                        continue
                    herd = Herd(r, c, axes, counts, bounds, along_rows, along_columns)
                    wasted = any(f > n for f, n in zip(herd.factors, counts, strict=True))
                    if not wasted and (key := (r, c, along_rows, along_columns)) not in seen:
                        seen.add(key)
                        yield herd


def _downto(most: int) -> tuple[int, ...]:
    return tuple(range(most, 0, -1))
