"""Statements that differ in register numbers only, as nested unrolled loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
from dslc.codegen.c_family.writer import Writer
from numpy.typing import NDArray

Table = NDArray[np.int64]


def linear_loops(out: Writer, table: Table | list[list[int]]) -> Iterator[list[str]]:
    """Walk the rows of a table of numbers in order, giving its columns as C expressions.

    Runs of rows whose numbers grow alike become loops, and so do runs of such loops; each time the
    caller is given the columns, it writes the statement (in the innermost loop).
    """
    levels: list[tuple[str, int, Table]] = []
    heads = np.asarray(table)
    while len(heads) > 1 and (size := _regular(heads)) > 1:
        levels.append((out.name("i"), size, heads[1] - heads[0]))
        heads = heads[::size]
    for row in heads:
        with ExitStack() as stack:
            for var, size, _ in reversed(levels):
                stack.enter_context(out.loop(var, size))
            yield [_sum(int(x), column, levels) for column, x in enumerate(row)]


def _sum(first: int, column: int, levels: list[tuple[str, int, Table]]) -> str:
    parts = [str(first)] if first else []
    for var, _, steps in reversed(levels):
        step = int(steps[column])
        if step:
            parts.append(var if step == 1 else f"{var} * {step}")
    return " + ".join(parts) or "0"


def _regular(rows: Table) -> int:
    """The greatest divisor of the number of rows in whose runs all numbers grow by the same steps."""
    step = rows[1] - rows[0]
    for size in range(len(rows), 1, -1):
        if len(rows) % size:
            continue
        blocks = rows.reshape(-1, size, rows.shape[1])
        if (blocks - blocks[:, :1] == np.arange(size)[:, None] * step).all():
            return size
    return 1
