"""What cores of a cascade pass to each other: vectors of 512 bits, from one to its neighbour below.

A tile passes vector by vector in the order of its memory. What does not fill the last vector goes with
zeros after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dslc.codegen.aie.compute.emission import Blocks, Emission, Flat, Stored, dense_strides
from dslc.codegen.aie.dtypes import bytes_of, stored
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.ir import TileType, Value

WIDTH = 64  # bytes that the cascade stream passes at once


def vectors_of(types: Iterable[TileType]) -> int:
    """The vectors that tiles of these types are passed in."""
    return sum(-(-math.prod(t.shape) * bytes_of(t.dtype) // WIDTH) for t in types)


def put(e: Emission, tile: Stored) -> None:
    """Pass a dense tile on."""
    lanes = WIDTH // bytes_of(tile.dtype)
    kind, count = vector(lanes, stored(tile.dtype)), math.prod(tile.shape)
    if count % lanes:
        tile = _filled(e, tile, lanes)
    with e.loop(-(-count // lanes)) as loop:
        place = e.out.index(e.out.at(loop, lanes) + tile.offset)
        chunk = e.out.op(f"vector.load {tile.name}[{place}] : {tile.type}, {kind}", "x")
        e.out.effect(f"aie.put_cascade({chunk} : {kind})")


def _filled(e: Emission, tile: Stored, lanes: int) -> Stored:
    """A copy of a tile with zeros up to whole vectors."""
    count = math.prod(tile.shape)
    whole = -(-count // lanes) * lanes
    whole_tile = e.buffer("passed", tile.dtype, (whole,))
    zero = e.out.constant(0, stored(tile.dtype))
    with e.loop(whole) as loop:
        e.store(zero, whole_tile, Flat(e.out.at(loop)), 1, raw=True)
    flat = Stored(tile.name, tile.count, tile.dtype, (count,), (1,), tile.offset)
    with e.loop(count) as loop:
        at = Flat(e.out.at(loop))
        e.store(e.load(flat, at, 1), whole_tile, at, 1)
    return whole_tile


def get(e: Emission, value: Value, blocks: Blocks | None) -> Stored:
    """Memory with a tile that the neighbour above passes."""
    dtype, shape = value.type.dtype, value.type.shape
    lanes = WIDTH // bytes_of(dtype)
    rounds = -(-math.prod(shape) // lanes)
    whole = e.buffer(value.name, dtype, (rounds * lanes,))
    kind = vector(lanes, stored(dtype))
    with e.loop(rounds) as loop:
        chunk = e.out.op(f"aie.get_cascade() : {kind}", "x")
        place = e.out.index(e.out.at(loop, lanes))
        e.out.effect(f"vector.store {chunk}, {whole.name}[{place}] : {whole.type}, {kind}")
    return Stored(whole.name, whole.count, dtype, shape, dense_strides(shape), 0, blocks)
