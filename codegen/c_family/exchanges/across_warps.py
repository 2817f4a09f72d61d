"""Reductions across the warps of a block, through shared memory.

Every thread writes the partial results that its warp has, and combines those of all warps: of what it
held itself, or at once of what the result's own layout gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.exchanges.folding import Fold
from dslc.codegen.c_family.exchanges.through_shared import thread_part
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.compiler.dtypes import Kind
from dslc.compiler.layout import BankModel, Layout
from dslc.compiler.layout.banks import address_conflicts
from numpy.typing import NDArray

Digits = list[tuple[int, int]]  # (weight, size) of a thread's digits that lie along the axis
_VECTORS = (4, 2, 1)  # elements that a thread moves at once, at best
_SKIPPED = (0, 1, 2, 4, 8, 16)  # cells between rounds


def across_warps(
    e: Emission, fold: Fold, part: str, place: str, count: int, digits: Digits
) -> None:
    """Every thread gets the whole results of what it has in part, in place."""
    first = "tid"
    for weight, size in digits:
        first += f" - tid / {weight} % {size} * {weight}"
    group = e.out.name("group")
    e.out.line(f"const int {group} = {first};")
    width = _width(fold) + (4 if place else 0)
    fits = max(1, e.room // (e.threads * width))
    for start in range(0, count, fits):
        own, at = (f"({x} + {start})" if start and x else x for x in (part, place))
        _exchange(e, fold, own, at, min(fits, count - start), group, digits)


def _exchange(
    e: Emission, fold: Fold, part: str, place: str, count: int, group: str, digits: Digits
) -> None:
    """So many results as shared memory has room for."""
    width = _width(fold)
    area = e.scratch(e.threads * count * width * (2 if place else 1))
    cells = f"(({_cell(fold)}*){area})"
    places = f"((int*){area} + {e.threads * count * width // 4})"
    with e.out.loop("i", count):
        e.out.line(f"{cells}[i * {e.threads} + tid] = {part}[i];")
        if place:
            e.out.line(f"{places}[i * {e.threads} + tid] = {place}[i];")
    e.out.line(e.together)
    with e.out.loop("i", count):
        e.out.line(f"{part}[i] = {fold.start()};" + (f" {place}[i] = 0x7fffffff;" if place else ""))
        with _all_warps(e, digits, 1) as offset:
            where = f"i * {e.threads} + {group} + {offset}"
            e.out.line(f"const {fold.ctype} other = {cells}[{where}];")
            fold.combine(e.out, f"{part}[i]", f"{place}[i]", "other", f"{places}[{where}]")


@dataclass(frozen=True, slots=True)
class _Cells:
    """How partial results lie: `vector` of a thread side by side, then those of the next thread.

    `skipped` cells follow each round of all threads. `places` are those of the first warps' parts of
    what a thread reads: [threads, locals].
    """

    vector: int
    skipped: int
    places: NDArray[np.int64]

    @classmethod
    def of(cls, layout: Layout, to: Layout, digits: Digits, vector: int, skipped: int) -> _Cells:
        """Of parts that lie as `layout`, read as `to`."""
        threads, local = np.arange(layout.threads), np.arange(layout.locals)
        first = np.all([threads // weight % size == 0 for weight, size in digits], axis=0)
        round_ = layout.threads * vector + skipped
        cell = local // vector * round_ + threads[:, None] * vector + local % vector
        lies = np.zeros(layout.elements, np.int64)
        lies[layout.numbers()[first][::-1]] = cell[first][::-1]  # of copies the first
        return cls(vector, skipped, lies[to.numbers()])

    @property
    def runs(self) -> bool:
        """Whether threads read as many cells at once as they write."""
        if self.places.shape[1] % self.vector:
            return False
        groups = self.places.reshape(len(self.places), -1, self.vector)
        return bool((groups == groups[:, :, :1] + np.arange(self.vector)).all())

    def cycles(self, banks: BankModel, width: int) -> int:
        """What reading takes of the banks, for cells of so many bytes."""
        vector = min(self.vector, banks.max_bits // 8 // width)
        first = self.places[:, ::vector] * width
        return address_conflicts(first, 8 * width * vector, banks).cycles


def _best_cells(e: Emission, layout: Layout, to: Layout, digits: Digits, width: int) -> _Cells:
    """Those that are read with the fewest conflicts; wide accesses before narrow ones."""
    vectors = [v for v in _VECTORS if layout.locals % v == 0]
    cells = [_Cells.of(layout, to, digits, v, 0) for v in vectors]
    cells = [c for c in cells if c.runs]  # that of single cells is
    banks = e.target.banks
    if banks is None:
        return cells[0]
    ways = [
        _Cells.of(layout, to, digits, c.vector, s)
        for c in cells
        for s in _SKIPPED
        if s % c.vector == 0
    ]
    return min(ways, key=lambda c: c.cycles(banks, width))


def handed_out(
    e: Emission, fold: Fold, part: str, layout: Layout, to: Layout, digits: Digits
) -> str | None:
    """The array of the results that each thread has in the layout `to`, of parts that lie as `layout`.

    None where a thread's addresses are not the same for all but for its digits, or room is short.
    """
    if fold.indexed:
        return None
    width = _width(fold)
    cells = _best_cells(e, layout, to, digits, width)
    vector, round_ = cells.vector, e.threads * cells.vector + cells.skipped
    size = layout.locals // vector * round_ * width
    thread, local = thread_part(cells.places[:, 0], to.threads), cells.places[0]
    local = local - local[0]
    if thread is None or (cells.places != cells.places[:, :1] + local).any() or size > e.room:
        return None
    area = f"(({_cell(fold)}*){e.scratch(size)})"
    with e.out.loop("i", layout.locals):
        own = f"i / {vector} * {round_} + tid * {vector} + i % {vector}"
        own = own if vector > 1 else f"i * {round_} + tid"
        e.out.line(f"{area}[{own}] = {part}[i];")
    e.out.line(e.together)
    whole, start = e.out.name(part), e.out.name("from")
    e.out.line(f"const int {start} = {thread};")
    e.out.line(f"{fold.ctype} {whole}[{to.locals}];")
    for i, offset in linear_loops(e.out, np.stack([np.arange(to.locals), local], axis=1)):
        e.out.line(f"{whole}[{i}] = {fold.start()};")
        with _all_warps(e, digits, vector) as other:
            e.out.line(f"const {fold.ctype} other = {area}[{start} + {offset} + {other}];")
            fold.combine(e.out, f"{whole}[{i}]", "", "other", "")
    return whole


@contextmanager
def _all_warps(e: Emission, digits: Digits, vector: int) -> Iterator[str]:
    """Loops over the warps that have parts; gives how far from the first one's a part lies."""
    with ExitStack() as stack:
        at = []
        for weight, size in digits:
            w = e.out.name("w")
            e.out.line("#pragma unroll")
            stack.enter_context(e.out.block(f"for (int {w} = 0; {w} < {size}; ++{w})"))
            at.append(f"{w} * {weight * vector}")
        yield " + ".join(at)


def _width(fold: Fold) -> int:
    return 8 if fold.dtype.bits == 64 else 4


def _cell(fold: Fold) -> str:
    return "int" if fold.dtype.kind is Kind.BOOL else fold.ctype
