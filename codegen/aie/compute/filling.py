"""Tiles put into memory: loops that compute every chunk of a tile and store it."""

from __future__ import annotations

import math
from contextlib import ExitStack

from dslc.codegen.aie.compute.emission import Blocks, Emission, Flat, Stored
from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.ir import Value

_CHUNK = 64  # bytes of a vector register


def fill(e: Emission, value: Value, target: Stored) -> None:
    """Compute a tile into memory, in the order of the memory where its operands lie alike."""
    shape = value.type.shape
    if e.is_flat(value, target) and shape:
        total = 1
        for size in shape:
            total *= size
        lanes = chunk(e, value, total, target)
        with e.loop(total // lanes) as loop:
            at = Flat(e.out.at(loop, lanes))
            e.store(e.pull(value, at, lanes), target, at, lanes)
        return
    with ExitStack() as loops:
        if target.blocks is not None:
            place, lanes = _blocked_place(e, value, target, target.blocks, loops)
        else:
            place, lanes = _place(e, value, target, loops)
        e.store(e.pull(value, place, lanes), target, place, lanes)


def _place(
    e: Emission, value: Value, target: Stored, loops: ExitStack
) -> tuple[tuple[Index, ...], int]:
    shape = value.type.shape
    if not shape:
        loops.enter_context(e.forgetting())
        return (), 1
    lanes = chunk(e, value, shape[-1], target) if target.strides[-1] == 1 else 1
    counts = (*shape[:-1], shape[-1] // lanes)
    at = [e.out.at(loops.enter_context(e.loop(n))) for n in counts]
    at[-1] = at[-1] * lanes
    return tuple(at), lanes


def _blocked_place(
    e: Emission, value: Value, target: Stored, blocks: Blocks, loops: ExitStack
) -> tuple[tuple[Index, ...], int]:
    rows, columns = value.type.shape
    r, c = blocks
    lanes = next(n for n in range(c, 0, -1) if c % n == 0 and e.has_lanes(value, n))
    i = e.out.at(loops.enter_context(e.loop(rows // r)), r)
    j = e.out.at(loops.enter_context(e.loop(columns // c)), c)
    i = i + e.out.at(loops.enter_context(e.loop(r)))
    j = j + e.out.at(loops.enter_context(e.loop(c // lanes)), lanes)
    return (i, j), lanes


def chunk(e: Emission, value: Value, extent: int, target: Stored | None = None) -> int:
    """The lanes that are computed at once along an extent: a register of the widest element."""
    wide = e.widest(value)
    most = max(1, _CHUNK // wide)
    if target is not None and e.is_flat(value, target):
        return next(n for n in _powers(most) if extent % n == 0)
    return next(n for n in _powers(most) if extent % n == 0 and e.has_lanes(value, n))


def _powers(most: int) -> tuple[int, ...]:
    powers = []
    while most >= 1:
        powers.append(most)
        most //= 2
    return tuple(powers)


def copy(e: Emission, source: Stored, target: Stored) -> None:
    """One buffer into another of the same kind, but for what fills its last word."""
    total = math.prod(source.shape)
    lanes = next(n for n in _powers(16) if total % n == 0)
    with e.loop(total // lanes) as loop:
        at = Flat(e.out.at(loop, lanes))
        e.store(e.load(source, at, lanes), target, at, lanes)


def copy_rows(e: Emission, source: Stored, target: Stored) -> None:
    """A matrix into a dense one, row by row."""
    rows, columns = source.shape
    lanes = next(n for n in _powers(16) if columns % n == 0)
    with e.loop(rows) as row, e.loop(columns // lanes) as column:
        at = e.out.at(row), e.out.at(column, lanes)
        e.store(e.load(source, at, lanes), target, at, lanes)


def woven(name: str, stream: Stream) -> Stored:
    """An object as its channel's blocks left it: rows of the blocked matrix, in its elements."""
    weave, dtype = stream.weave, stream.memory.dtype
    assert weave is not None
    columns, c = (n // bytes_of(dtype) for n in (weave.columns, weave.block_columns))
    shape = weave.rows, columns
    return Stored(name, stream.elements, dtype, shape, (columns, 1), 0, (weave.block_rows, c))


def copy_woven(e: Emission, source: Stored, target: Stored, wide: int) -> None:
    """The first elements of each row of `wide` into a dense matrix, a block's row at a time."""
    rows, asked = target.shape
    columns = source.shape[1]
    each, part = wide // columns, min(asked, columns)
    assert source.blocks is not None
    lanes = math.gcd(source.blocks[1], part)
    with e.loop(rows) as row, e.loop(asked // part) as line, e.loop(part // lanes) as piece:
        there = e.out.at(row, each) + e.out.at(line), e.out.at(piece, lanes)
        here = e.out.at(row), e.out.at(line, part) + e.out.at(piece, lanes)
        e.store(e.load(source, there, lanes), target, here, lanes)


def held(e: Emission, value: Value, blocks: Blocks | None = None) -> Stored:
    """A tile in memory, dense and in the blocks that are asked for: where it is, or in a new buffer."""
    home = e.held.get(value)
    if home is not None and home.blocks == blocks and home.is_dense:
        return home
    buffer = e.buffer(value.name or "t", value.type.dtype, value.type.shape, blocks)
    fill(e, value, buffer)
    return buffer
