"""Reductions: over a thread's registers, then the lanes of a warp by shuffles, then the warps.

The result has the operand's layout with the axis reduced, where every thread that took part holds it,
or another one that is wanted: warps hand it out so.
"""

from __future__ import annotations

from contextlib import ExitStack

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.across_warps import across_warps, handed_out
from dslc.codegen.c_family.exchanges.folding import Fold
from dslc.codegen.c_family.exchanges.remap import move
from dslc.codegen.c_family.indexing import add
from dslc.codegen.c_family.registers import Tile
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, reduce, unsqueeze
from dslc.compiler.layout.mode import with_weights


def reduced_layout(layout: Layout, axis: int, keepdims: bool) -> Layout:
    """The layout of a reduction's result: copies where threads shared the axis."""
    reduced = reduce(layout, [axis])
    return unsqueeze(reduced, [axis]) if keepdims else reduced


def emit_reduce(e: Emission, s: ins.Reduce) -> None:
    """A reduction over one axis."""
    x = e.tile(s.x)
    fold = Fold(s.op, x.dtype)
    layout = reduced_layout(x.layout, s.axis, s.keepdims)
    part = e.out.name(s.out.name or "part")
    place = e.out.name("index") if fold.indexed else ""
    count = layout.locals
    e.out.line(f"{fold.ctype} {part}[{count}];")
    if place:
        e.out.line(f"int {place}[{count}];")
    with e.out.loop("i", count):
        e.out.line(f"{part}[i] = {fold.start()};" + (f" {place}[i] = 0x7fffffff;" if place else ""))
    _registers(e, x, s.axis, fold, part, place)
    lanes, warps = _split_axis(x.layout, s.axis, e.warp)
    for weight in lanes:
        _shuffle(e, fold, part, place, count, weight)
    wanted = s.out.type.layout
    if warps and wanted is not None and wanted != layout:
        whole = handed_out(e, fold, part, layout, wanted, warps)
        if whole is not None:
            _finish(e, s, wanted, whole)
            return
    if warps:
        across_warps(e, fold, part, place, count, warps)
    _finish(e, s, layout, place or part)


def _registers(e: Emission, x: Tile, axis: int, fold: Fold, part: str, place: str) -> None:
    """Fold the registers that differ only along the axis."""
    digits = with_weights(x.layout.local_modes)
    kept = [m for m in x.layout.local_modes if m.axis != axis]
    weights = {id(m): w for m, w in with_weights(tuple(kept))}
    with ExitStack() as stack:
        element, target, along = [], [], []
        for mode, weight in digits:
            i = e.out.name("i")
            e.out.line("#pragma unroll")
            stack.enter_context(e.out.block(f"for (int {i} = 0; {i} < {mode.size}; ++{i})"))
            element.append(f"{i} * {weight}")
            if mode.axis == axis:
                along.append(f"{i} * {mode.stride}")
            else:
                target.append(f"{i} * {weights[id(mode)]}")
        if not digits:
            stack.enter_context(e.out.block(""))
        value = x.read(add(*element) if element else "0")
        r = add(*target) if target else "0"
        j = add(e.bases.base(x.layout, axis), *along)
        name = e.out.name("x")
        e.out.line(f"const {fold.ctype} {name} = {value};")
        fold.combine(e.out, f"{part}[{r}]", f"{place}[{r}]", name, j or "0")


def _split_axis(layout: Layout, axis: int, warp: int) -> tuple[list[int], list[tuple[int, int]]]:
    """The xor distances of the axis' lanes; (weight, size) of digits that no shuffle reaches."""
    lanes: list[int] = []
    warps: list[tuple[int, int]] = []
    for mode, weight in with_weights(layout.spatial_modes):
        if mode.axis != axis:
            continue
        size = mode.size
        if size & (size - 1) == 0 and weight & (weight - 1) == 0:
            w = weight
            while size > 1 and w < warp:
                lanes.append(w)
                w, size = w * 2, size // 2
            weight = w  # noqa: PLW2901
        if size > 1:
            warps.append((weight, size))
    return lanes, warps


def _shuffle(e: Emission, fold: Fold, part: str, place: str, count: int, distance: int) -> None:
    with e.out.loop("i", count):
        e.out.line(
            f"const {fold.ctype} other = __shfl_xor_sync(0xffffffffu, {part}[i], {distance});"
        )
        j = "0"
        if place:
            e.out.line(
                f"const int other_at = __shfl_xor_sync(0xffffffffu, {place}[i], {distance});"
            )
            j = "other_at"
        fold.combine(e.out, f"{part}[i]", f"{place}[i]", "other", j)


def _finish(e: Emission, s: ins.Reduce, layout: Layout, array: str) -> None:
    """The partial results as a tile, moved to the result's layout if that differs."""
    held = Value(TileType(s.out.type.dtype, s.out.type.shape, layout), s.out.name)
    tile = e.new(held)
    with e.out.loop("i", tile.count):
        e.out.line(tile.write("i", f"{array}[i]"))
    if s.out.type.layout == layout:
        e.alias(s.out, tile)
    else:
        move(e, s.out, tile, lambda i: i)


EMITTERS: dict[type, Emitter] = {ins.Reduce: emit_reduce}
