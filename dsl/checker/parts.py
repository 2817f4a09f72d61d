"""Parts of tiles: constant slices, and elements that tiles of integers choose."""

from __future__ import annotations

from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.items import Item
from dslc.checker.subscript import (
    Evaluate,
    Subscript,
    access_by,
    expand,
    is_new_axis,
    is_tile,
    read,
)
from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir import Memory, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.regions import whole as whole_of
from dslc.frontend import tree


def part(c: Context, x: Value, node: tree.Subscript, evaluate: Evaluate) -> Item:
    """Of a tile a constant slice, by NumPy's rules, or the elements that tiles of integers choose."""
    items: list[Subscript] = []
    for item in expand(node.items, x.type.rank, node.loc):
        if isinstance(item, tree.Slice) or is_new_axis(item):
            items.append(item)
        else:
            items.append((evaluate(item), item.loc))
    if not any(is_tile(i) for i in items):
        return _extract(c, x, items, evaluate, node.loc)
    # Slices first, of the axes along which nothing chooses; then the rest is on the chip.
    everything = tree.Slice(None, None, None, loc=node.loc)
    sliced = [everything if is_tile(i) else i for i in items if not _is_new(i)]
    tile = _extract(c, x, sliced, evaluate, node.loc)
    assert isinstance(tile, Value)
    kept = [i for i in items if not isinstance(i, tuple) or is_tile(i)]
    whole = [everything if isinstance(i, tree.Slice) else i for i in kept]
    return read(c, access_by(c, on_chip(c, tile), whole, evaluate))


def on_chip(c: Context, x: Value) -> Memory:
    """A buffer that holds a tile."""
    shape = tuple(ex.index(n) for n in x.type.shape)
    memory = Memory(x.name or "tile", x.type.dtype, shape, Role.BUFFER, loc=c.emit.loc)
    c.emit.emit(ins.Alloc(memory, loc=c.emit.loc))
    c.emit.emit(ins.Store(whole_of(memory, x.type.shape), x, loc=c.emit.loc))
    return memory


def _is_new(item: Subscript) -> bool:
    return not isinstance(item, tuple) and is_new_axis(item)


def _extract(c: Context, x: Value, items: list[Subscript], evaluate: Evaluate, loc: Loc) -> Item:
    starts: list[int] = []
    steps: list[int] = []
    sizes: list[int] = []
    dropped: list[int] = []
    new_axes: list[int] = []
    kept = 0
    for item in items:
        if _is_new(item):
            new_axes.append(kept)
            kept += 1
            continue
        extent = x.type.shape[len(starts)]
        if isinstance(item, tree.Slice):
            parts = (item.start, item.stop, item.step)
            known = [
                None if p is None else c.integer(evaluate(p), p.loc, "a slice of a tile")
                for p in parts
            ]
            if known[2] is not None and known[2] < 1:
                fail("DSL0212", "the step of a slice is at least 1", item.loc)
            chosen = range(*slice(*known).indices(extent))
            if not chosen:
                fail("DSL0204", f"this slice of {extent} elements is empty", item.loc)
            starts.append(chosen.start)
            steps.append(chosen.step)
            sizes.append(len(chosen))
            kept += 1
        else:
            assert isinstance(item, tuple)
            at = c.integer(item[0], item[1], "a subscript of a tile")
            if not -extent <= at < extent:
                fail("DSL0212", f"subscript {at} is outside an axis of {extent} elements", item[1])
            dropped.append(len(starts))
            starts.append(at % extent)
            steps.append(1)
            sizes.append(1)
    shape = tuple(s for k, s in enumerate(sizes) if k not in dropped)
    out = x
    if shape != x.type.shape or any(s != 1 for s in steps):
        out = c.emit.value(x.type.dtype, shape)
        c.emit.emit(ins.Extract(out, x, tuple(starts), tuple(steps), tuple(dropped), loc=loc))
    final = list(shape)
    for place in new_axes:
        final.insert(place, 1)
    out = c.emit.reshape(out, tuple(final))
    return ex.Read(out) if not out.type.shape else out
