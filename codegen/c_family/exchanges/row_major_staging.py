"""Scans and concatenation by way of shared memory, where every element has its row-major place."""

from __future__ import annotations

from math import prod

import numpy as np
from dslc.codegen.c_family.ctypes_of import element_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.remap import copy_element, registers
from dslc.codegen.c_family.exchanges.through_shared import cell, row_major
from dslc.codegen.c_family.indexing import add, chunks, loops
from dslc.codegen.c_family.memory.accesses import first_copy
from dslc.codegen.c_family.scalars import binary
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.compiler.ir import instructions as ins
from numpy.typing import NDArray


def scan(e: Emission, s: ins.Scan) -> None:
    """Inclusive sums along an axis: through shared memory, one thread a line."""
    x = e.tile(s.x)
    ctype = element_type(x.dtype)
    shape = x.layout.shape
    area = e.scratch(prod(shape) * (8 if x.dtype.bits == 64 else 4))
    cells = f"(({ctype}*){area})"

    once = first_copy(x.layout)
    parts = chunks(x.layout, 1, e.out)
    with loops(e.out, parts):
        line = f"{cells}[{row_major(e, x.layout, parts)}] = {x.read(parts.element)};"
        e.out.line(f"if ({once}) {line}" if once else line)
    e.out.line(e.together)
    inner = prod(shape[s.axis + 1 :])
    lines = prod(shape) // shape[s.axis]
    with e.out.block(f"for (int line = tid; line < {lines}; line += {e.threads})"):
        e.out.line(f"int at = line / {inner} * {inner * shape[s.axis]} + line % {inner};")
        e.out.line(f"{ctype} total = 0;")
        with e.out.block(f"for (int i = 0; i < {shape[s.axis]}; ++i, at += {inner})"):
            total = binary("add", "total", f"{cells}[at]", x.dtype)
            e.out.line(f"total = {total}; {cells}[at] = total;")
    e.out.line(e.together)
    tile = e.new(s.out)
    parts = chunks(tile.layout, 1, e.out)
    with loops(e.out, parts):
        e.out.line(tile.write(parts.element, f"{cells}[{row_major(e, tile.layout, parts)}]"))


def concat(e: Emission, s: ins.Concat) -> None:
    """Tiles one after another: in registers where each thread has its part, else by shared memory."""
    picked = _picked(s)
    if picked is None:
        _concat_staged(e, s)
        return
    tile = e.new(s.out)
    for value, pairs in zip(s.xs, picked, strict=True):
        x = e.tile(value)
        for to, i in linear_loops(e.out, pairs):
            e.out.line(copy_element(tile, to, x, i))


def _picked(s: ins.Concat) -> list[NDArray[np.int64]] | None:
    """For each tile pairs of registers: the result's, and its own that goes there.

    None where threads differ in that, or do not hold what they need.
    """
    layouts = [v.type.layout for v in (s.out, *s.xs)]
    assert all(layouts)
    out, *parts = (x for x in layouts if x is not None)
    picked, start = [], 0
    for layout in parts:
        size = layout.shape[s.axis]
        table = out.table()  # [threads, locals, rank]
        table[..., s.axis] -= start
        inside = (table[..., s.axis] >= 0) & (table[..., s.axis] < size)
        own = np.flatnonzero(inside.any(axis=0))
        if not inside[:, own].all():
            return None
        strides = [prod(layout.shape[k + 1 :]) for k in range(layout.rank)]
        picks = registers(layout, (table[:, own] * strides).sum(axis=-1))
        if picks is None:
            return None
        picked.append(np.stack([own, picks], axis=1))
        start += size
    return picked


def _concat_staged(e: Emission, s: ins.Concat) -> None:
    tile = e.new(s.out)
    ctype, put, take = cell(tile)
    shape = tile.layout.shape
    area = e.scratch(prod(shape) * (8 if tile.dtype.bits == 64 else 4))
    cells = f"(({ctype}*){area})"
    start = 0
    for value in s.xs:
        x = e.tile(value)
        chunk = chunks(x.layout, 1, e.out)
        once = first_copy(x.layout)
        with loops(e.out, chunk):
            parts = []
            for axis in range(len(shape)):
                at = add(e.bases.base(x.layout, axis), chunk.offset(axis)) or "0"
                at = f"{at} + {start}" if axis == s.axis else at
                parts.append(f"({at}) * {prod(shape[axis + 1 :])}")
            line = f"{cells}[{' + '.join(parts)}] = {put.format(x.name, chunk.element)};"
            e.out.line(f"if ({once}) {line}" if once else line)
        start += value.type.shape[s.axis]
    e.out.line(e.together)
    chunk = chunks(tile.layout, 1, e.out)
    with loops(e.out, chunk):
        e.out.line(
            take.format(tile.name, chunk.element, f"{cells}[{row_major(e, tile.layout, chunk)}]")
        )


EMITTERS: dict[type, Emitter] = {ins.Scan: scan, ins.Concat: concat}
