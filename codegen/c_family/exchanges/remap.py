"""Moving elements between layouts: by renaming registers, or through shared memory.

Broadcast, Reshape, Transpose, Extract, Concat, Repeat and ConvertLayout all say: element I of the
result is element source(I) of an operand. If every thread holds what it needs, in the same register
whichever thread it is, registers are renamed; else the operand goes through shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from dslc.codegen.c_family.ctypes_of import is_packed
from dslc.codegen.c_family.emission import Emission, Emitter, layout_of
from dslc.codegen.c_family.exchanges.through_shared import Indices, through_shared
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.codegen.c_family.writer import Writer
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout

Source = Callable[[Indices], Indices]  # rows of result indices -> rows of operand indices


def registers(source: Layout, wanted: Indices) -> list[int] | None:
    """For each register of the result the operand's register that holds `wanted`, if all threads agree.

    `wanted` is [threads, locals] of row-major numbers in the operand.
    """
    held = source.numbers()
    if len(wanted) != source.threads:
        return None
    picks = []
    for i in range(wanted.shape[1]):
        same = (held == wanted[:, i : i + 1]).all(axis=0)
        where = np.flatnonzero(same)
        if not len(where):
            return None
        picks.append(int(where[0]))
    return picks


def move(e: Emission, out: Value, x: Tile, source: Source) -> None:
    """Define `out`, whose element I is element source(I) of x."""
    wanted = _wanted(out, x.layout, source)
    picks = registers(x.layout, wanted)
    if picks is not None:
        _rename(e, out, x, picks)
    else:
        through_shared(e, out, x, wanted)


def move_value(e: Emission, out: Value, x: Value, source: Source) -> None:
    """The same of a value. Narrow elements that stay in their thread are read where they lie; those
    whose cast is yet to come are cast by the reader of `out`.
    """
    deferred, dtype = e.deferred.get(x), x.type.dtype
    if deferred is not None or (dtype.bits <= 8 and is_packed(dtype)):
        picks = registers(layout_of(x), _wanted(out, layout_of(x), source))
        if picks is not None and deferred is not None:
            e.deferred[out] = replace(deferred, bits=deferred.bits.picked(picks))
            return
        if picks is not None:
            e.defer(out, e.bits_of(x).picked(picks))
            return
    move(e, out, e.tile(x), source)


def _wanted(out: Value, x: Layout, source: Source) -> Indices:
    """The row-major numbers in x of the result's elements: [threads, locals]."""
    to = layout_of(out)
    indices = to.table().reshape(to.threads * to.locals, to.rank)
    return _ravel(source(indices), x.shape).reshape(to.threads, to.locals)


def _rename(e: Emission, out: Value, x: Tile, picks: list[int]) -> None:
    if picks == list(range(x.count)):
        e.alias(out, x)
        return
    words = _words(x, picks)
    tile = e.new(out, zero=False) if words is not None else e.new(out)
    _copy(e.out, tile, x, picks, words)


def gather(out: Writer, x: Tile, picks: Sequence[int]) -> Tile:
    """New registers that hold the elements `picks` of x, in that order."""
    tile = Tile(out.name(x.name), x.dtype, x.layout)
    words = _words(x, picks)
    out.line(f"{tile.declaration}{' = {}' if is_packed(x.dtype) and words is None else ''};")
    _copy(out, tile, x, picks, words)
    return tile


def _words(x: Tile, picks: Sequence[int]) -> list[tuple[int, bool]] | None:
    """For each word of the copy the word of x that it is, or the 16-bit element that it has twice.

    None where a word is mixed otherwise.
    """
    bits = x.dtype.bits
    per = 32 // bits if is_packed(x.dtype) and 32 % bits == 0 else 0
    if not per or len(picks) % per:
        return None
    words: list[tuple[int, bool]] = []
    for first, *rest in (picks[i : i + per] for i in range(0, len(picks), per)):
        if first % per == 0 and rest == list(range(first + 1, first + per)):
            words.append((first // per, False))
        elif bits == 16 and rest == [first]:
            words.append((first, True))
        else:
            return None
    return words if len({twice for _, twice in words}) == 1 else None


def _copy(
    out: Writer,
    to: Tile,
    x: Tile,
    picks: Sequence[int],
    words: list[tuple[int, bool]] | None,
) -> None:
    """The elements `picks` of x, by whole words where these are whole."""
    if words is None:
        for i, source in linear_loops(out, np.stack([np.arange(len(picks)), picks], axis=1)):
            out.line(copy_element(to, i, x, source))
        return
    twice = words[0][1]
    table = np.array([(i, source) for i, (source, _) in enumerate(words)])
    for i, source in linear_loops(out, table):
        word = f"duplicate_16({x.name}, {source})" if twice else f"{x.name}[{source}]"
        out.line(f"{to.name}[{i}] = {word};")


def copy_element(to: Tile, i: str, x: Tile, pick: str) -> str:
    """The statement that sets element i of a tile to element `pick` of another."""
    if not is_packed(to.dtype):
        return f"{to.name}[{i}] = {x.name}[{pick}];"
    bits = to.dtype.bits
    return f"set_bits<{bits}>({to.name}, {i}, get_bits<{bits}>({x.name}, {pick}));"


# The instructions


def broadcast(e: Emission, s: ins.Broadcast) -> None:
    """Axes of size 1 and missing axes repeat."""
    shape = s.x.type.shape
    skip = s.out.type.rank - len(shape)
    ones = np.array([1 if n == 1 else 0 for n in shape], dtype=np.int64)
    move_value(e, s.out, s.x, lambda i: i[:, skip:] * (1 - ones))


def reshape(e: Emission, s: ins.Reshape) -> None:
    """The same row-major numbers."""
    to, shape = s.out.type.shape, s.x.type.shape
    move_value(e, s.out, s.x, lambda i: _unravel(_ravel(i, to), shape))


def _ravel(rows: Indices, shape: tuple[int, ...]) -> Indices:
    strides = np.array([prod(shape[k + 1 :]) for k in range(len(shape))], dtype=np.int64)
    return np.asarray((rows * strides).sum(axis=-1))


def _unravel(numbers: Indices, shape: tuple[int, ...]) -> Indices:
    if not shape:
        return np.zeros((len(numbers), 0), np.int64)
    return np.stack(np.unravel_index(numbers, shape), axis=-1).astype(np.int64)


def transpose(e: Emission, s: ins.Transpose) -> None:
    """Axes in another order."""
    if s.x in e.in_memory:
        region, transposed = e.in_memory[s.x]
        e.in_memory[s.out] = region, not transposed
        return
    back = np.argsort(s.axes)
    move_value(e, s.out, s.x, lambda i: i[:, back])


def extract(e: Emission, s: ins.Extract) -> None:
    """A constant slice."""
    kept = [a for a in range(s.x.type.rank) if a not in s.dropped]

    def source(i: Indices) -> Indices:
        rows = np.tile(np.array(s.starts, dtype=np.int64), (len(i), 1))
        for place, axis in enumerate(kept):
            rows[:, axis] += i[:, place] * s.steps[axis]
        return rows

    move_value(e, s.out, s.x, source)


def repeat(e: Emission, s: ins.Repeat) -> None:
    """Each element several times."""

    def source(i: Indices) -> Indices:
        rows = i.copy()
        rows[:, s.axis] //= s.times
        return rows

    move_value(e, s.out, s.x, source)


def convert_layout(e: Emission, s: ins.ConvertLayout) -> None:
    """The same elements elsewhere."""
    move_value(e, s.out, s.x, lambda i: i)


EMITTERS: dict[type, Emitter] = {
    ins.Broadcast: broadcast,
    ins.Reshape: reshape,
    ins.Transpose: transpose,
    ins.Extract: extract,
    ins.Repeat: repeat,
    ins.ConvertLayout: convert_layout,
}
