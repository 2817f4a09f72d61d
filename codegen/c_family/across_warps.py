"""Reductions across the warps of a block, through shared memory.

Every thread writes the partial results that its warp has, and combines those of all warps: of what it
held itself, or at once of what the result's own layout gives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.folding import Fold
from dslc.codegen.c_family.remap import flat, thread_part
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.compiler.dtypes import Kind
from dslc.compiler.layout import Layout
from numpy.typing import NDArray

Digits = list[tuple[int, int]]  # (weight, size) of a thread's digits that lie along the axis
_VECTORS = (4, 2, 1)  # elements that a thread moves at once, at best


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


def handed_out(
    e: Emission, fold: Fold, part: str, layout: Layout, to: Layout, digits: Digits
) -> str | None:
    """The array of the results that each thread has in the layout `to`, of parts that lie as `layout`.

    None where a thread's addresses are not the same for all but for its digits, or room is short.
    """
    size = e.threads * layout.locals * _width(fold)
    if fold.indexed or size > e.room:
        return None
    for vector in (v for v in _VECTORS if layout.locals % v == 0):
        where = _places(layout, to, digits, vector)
        thread, local = thread_part(where[:, 0], to.threads), where[0] - where[0, 0]
        if thread is None or (where != where[:, :1] + local).any():
            continue
        runs = where.reshape(to.threads, -1, vector) if to.locals % vector == 0 else None
        if runs is None or (runs != runs[:, :, :1] + np.arange(vector)).any():
            continue
        cells = f"(({_cell(fold)}*){e.scratch(size)})"
        with e.out.loop("i", layout.locals):
            own = f"i / {vector} * {e.threads * vector} + tid * {vector} + i % {vector}"
            own = f"i * {e.threads} + tid" if vector == 1 else own
            e.out.line(f"{cells}[{own}] = {part}[i];")
        e.out.line(e.together)
        whole, start = e.out.name(part), e.out.name("from")
        e.out.line(f"const int {start} = {thread};")
        e.out.line(f"{fold.ctype} {whole}[{to.locals}];")
        table = np.stack([np.arange(to.locals), local], axis=1)
        for i, offset in linear_loops(e.out, table):
            e.out.line(f"{whole}[{i}] = {fold.start()};")
            with _all_warps(e, digits, vector) as other:
                e.out.line(f"const {fold.ctype} other = {cells}[{start} + {offset} + {other}];")
                fold.combine(e.out, f"{whole}[{i}]", "", "other", "")
        return whole
    return None


def _places(layout: Layout, to: Layout, digits: Digits, vector: int) -> NDArray[np.int64]:
    """Where the first warps' part of each element of `to` lies: [threads, locals]."""
    threads = np.arange(layout.threads)
    first = np.all([threads // weight % size == 0 for weight, size in digits], axis=0)
    local = np.arange(layout.locals)
    cell = (local // vector * layout.threads + threads[:, None]) * vector + local % vector
    lies = np.zeros(layout.elements, np.int64)
    held = flat(layout)[first]
    lies[held[::-1]] = cell[first][::-1]  # of copies the first
    return np.asarray(lies[flat(to)])


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
