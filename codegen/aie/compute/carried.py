"""Tiles that a loop carries on a core: a buffer each, and a second where others still read it."""

from __future__ import annotations

from collections.abc import Iterable

from dslc.codegen.aie.compute.emission import Emission, Stored
from dslc.codegen.aie.compute.filling import copy, fill
from dslc.compiler.ir import Value
from dslc.compiler.ir.instructions import Carried
from dslc.compiler.ir.traverse import operands


def begin(e: Emission, carried: Carried, init: Value) -> None:
    """The memory of a carried tile, with what it is at first."""
    inner = carried.inner
    assert isinstance(inner, Value)
    assert isinstance(carried.result, Value)
    blocks = e.blocks.get(inner)
    home = e.buffer(inner.name or "acc", inner.type.dtype, inner.type.shape, blocks)
    fill(e, init, home)
    e.held[inner] = e.held[carried.result] = home


def hand_on(e: Emission, tiles: Iterable[Carried]) -> None:
    """What the next iteration gets; through a second buffer where others still read the first."""
    moves: list[tuple[Stored, Stored]] = []
    todo = [(c, y) for c in tiles if isinstance(y := c.yielded, Value) and y is not c.inner]
    for number, (carried, value) in enumerate(todo):
        inner = carried.inner
        assert isinstance(inner, Value)
        target = e.held[inner]
        if e.held.get(value) == target:
            continue
        later = any(_reads(e, v, target) for _, v in todo[number + 1 :])
        if later or _reads(e, value, target, elsewhere=True):
            spare = e.buffer(
                f"{inner.name}_next", inner.type.dtype, inner.type.shape, target.blocks
            )
            fill(e, value, spare)
            moves.append((spare, target))
        else:
            fill(e, value, target)
    for spare, target in moves:
        copy(e, spare, target)


def _reads(e: Emission, value: Value, memory: Stored, *, elsewhere: bool = False) -> bool:
    """Whether computing a tile reads a memory; with `elsewhere`, at other places than its own."""
    open_, seen = [(value, elsewhere)], set[tuple[Value, bool]]()
    while open_:
        pair = at, same = open_.pop()
        if pair in seen:
            continue
        seen.add(pair)
        if (held := e.held.get(at)) is not None:
            if held.name == memory.name and not (same and held == memory):
                return True
            continue
        stmt = e.definitions[at]
        rule = e.rule(stmt)
        alike = rule.operands(stmt) if rule.elementwise else ()
        open_ += [(x, same and x in alike) for x in operands(stmt)]
    return False
