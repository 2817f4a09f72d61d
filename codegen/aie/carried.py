"""Tiles that a loop carries on a core: a buffer each, and a second where others still read it."""

from __future__ import annotations

from collections.abc import Iterable

from dslc.codegen.aie.emission import Emission, Stored
from dslc.codegen.aie.filling import copy, fill
from dslc.compiler.ir import Value
from dslc.compiler.ir.instructions import Carried
from dslc.compiler.ir.traverse import operands


def begin(e: Emission, carried: Carried, init: Value) -> None:
    """The memory of a carried tile, with what it is at first."""
    inner = carried.inner
    assert isinstance(inner, Value)
    assert isinstance(carried.result, Value)
    blocks = e.blocks.get(inner)
    made = e.buffer(inner.name or "acc", inner.type.dtype, inner.type.shape, blocks)
    fill(e, init, made)
    e.held[inner] = e.held[carried.result] = made


def hand_on(e: Emission, tiles: Iterable[Carried]) -> None:
    """What the next turn gets; through a second buffer where others still read the first."""
    moves: list[tuple[Stored, Stored]] = []
    todo = [(c, y) for c in tiles if isinstance(y := c.yielded, Value) and y is not c.inner]
    for carried, value in todo:
        inner = carried.inner
        assert isinstance(inner, Value)
        target = e.held[inner]
        if e.held.get(value) == target:
            continue
        others = [v for c, v in todo if c is not carried]
        shared = any(_reads(e, v, inner) for v in others)
        if shared or _reads(e, value, inner, moved=True):
            spare = e.buffer(
                f"{inner.name}_next", inner.type.dtype, inner.type.shape, target.blocks
            )
            fill(e, value, spare)
            moves.append((spare, target))
        else:
            fill(e, value, target)
    for spare, target in moves:
        copy(e, spare, target)


def _reads(e: Emission, value: Value, inner: Value, *, moved: bool = False) -> bool:
    """Whether computing a tile reads another; with `moved`, at other places than its own."""
    if value is inner:
        return not moved
    if value in e.held:
        return e.held[value].name == e.held[inner].name
    stmt = e.definitions[value]
    same = e.rule(stmt).elementwise
    return any(_reads(e, x, inner, moved=moved and same) for x in operands(stmt))
