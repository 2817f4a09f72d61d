"""A herd: the cores that run a kernel, and which turns of the grid each of them runs.

One axis of the grid goes along the rows of the array and one along its columns, or the same along both.
Turns are dealt in rounds: of 10 turns four cores take 0 1 2 3, then 4 5 6 7, then 8 9 and two past the
end, whose tiles lie in the padding of the tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dslc.codegen.aie.evaluation import evaluate
from dslc.codegen.aie.streams import Stream
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.expr import Var


@dataclass(frozen=True)
class Herd:
    """`rows` x `columns` cores. `axes` are the grid's variables, `counts` their turns.

    `row_axis` and `column_axis` number the axes that are dealt along rows and columns; None where only
    one core stands that way.
    """

    rows: int
    columns: int
    axes: tuple[Var, ...]
    counts: tuple[int, ...]
    row_axis: int | None
    column_axis: int | None

    @cached_property
    def factors(self) -> tuple[int, ...]:
        """Per axis, how many cores share its turns."""
        found = [1] * len(self.counts)
        if self.row_axis is not None:
            found[self.row_axis] *= self.rows
        if self.column_axis is not None:
            found[self.column_axis] *= self.columns
        return tuple(found)

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
            return self.rows > 1, self.columns > 1
        along_rows = self._bears(stream, self.row_axis) and self.rows > 1
        along_columns = self._bears(stream, self.column_axis) and self.columns > 1
        return along_rows, along_columns

    def _bears(self, stream: Stream, axis: int | None) -> bool:
        return axis is not None and self.axes[axis] in stream.variables

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


def herds(kernel: Kernel, rows: int, columns: int) -> Iterator[Herd]:
    """Every herd that could run a kernel on an array of so many rows and columns of cores."""
    counts = turn_counts(kernel)
    axes = tuple(a.var for a in kernel.grid)
    seen = set()
    for along_rows in (None, *range(len(counts))):
        for along_columns in (None, *range(len(counts))):
            for r in _downto(rows) if along_rows is not None else (1,):
                for c in _downto(columns) if along_columns is not None else (1,):
                    if (r == 1) == (along_rows is not None) or (
                        (c == 1) == (along_columns is not None)
                    ):
                        continue
                    herd = Herd(r, c, axes, counts, along_rows, along_columns)
                    wasted = any(f > n for f, n in zip(herd.factors, counts, strict=True))
                    if not wasted and (key := (r, c, along_rows, along_columns)) not in seen:
                        seen.add(key)
                        yield herd


def _downto(most: int) -> tuple[int, ...]:
    return tuple(range(most, 0, -1))
