"""Operators on the axes of the tile: permute, reshape, squeeze, unsqueeze, reduce and slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.composition import checked_axis, renumber_modes
from dslc.compiler.layout.coordinates import Cell, all_through_cells
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.mode import Mode, Modes, coalesce_modes, replicated, split_mode
from dslc.compiler.layout.primitives import checked_shape


def permute(layout: Layout, axes: Sequence[int]) -> Layout:
    """The axes in another order: axis d of the result is axis axes[d] of the layout."""
    order = [checked_axis(layout, a) for a in axes]
    if sorted(order) != list(range(layout.rank)):
        raise error("DSL0302", f"{list(axes)} is no order of the {layout.rank} axes of {layout}")
    places = tuple(order.index(d) for d in range(layout.rank))
    return Layout(
        tuple(layout.shape[d] for d in order),
        renumber_modes(layout.spatial_modes, places),
        renumber_modes(layout.local_modes, places),
        tuple(s.moved(places) for s in layout.swizzles),
    )


def reshape(layout: Layout, shape: Sequence[int]) -> Layout:
    """The same elements in row-major order under another shape.

    DSL0304 where a new axis ends within a digit of the layout.
    """
    new = checked_shape("reshape", shape)
    if prod(new) != layout.elements:
        raise error("DSL0304", f"{layout} has {layout.elements} elements: {list(new)} has not")
    flat = _flatten(layout)
    if len(new) == 1:
        return flat
    ends = _strides(new)
    sides = [_cut(side, ends) for side in (flat.spatial_modes, flat.local_modes)]
    cells = [Cell(0, end, n, axis, 1) for axis, (end, n) in enumerate(zip(ends, new, strict=True))]
    swizzles = all_through_cells(flat.swizzles, cells)
    if sides[0] is None or sides[1] is None or swizzles is None:
        raise error("DSL0304", f"a digit of {layout} lies in several axes of the shape {list(new)}")
    return Layout(new, sides[0], sides[1], swizzles)


def squeeze(layout: Layout, dims: Sequence[int]) -> Layout:
    """Without the axes `dims`, whose extents are 1 (one axis stays)."""
    dropped = {checked_axis(layout, d) for d in dims}
    for dim in dropped:
        if layout.shape[dim] != 1:
            raise error(
                "DSL0304", f"axis {dim} of {layout} has the extent {layout.shape[dim]}, not 1"
            )
    kept = [n for d, n in enumerate(layout.shape) if d not in dropped]
    return reshape(layout, kept or [1])


def unsqueeze(layout: Layout, dims: Sequence[int]) -> Layout:
    """With axes of extent 1 that stand at the positions `dims` of the result."""
    rank = layout.rank + len(dims)
    places = {d % rank for d in dims if -rank <= d < rank}
    if len(places) != len(dims):
        raise error("DSL0302", f"{list(dims)} are not distinct axes of a layout of rank {rank}")
    extents = iter(layout.shape)
    return reshape(layout, [1 if d in places else next(extents) for d in range(rank)])


def reduce(layout: Layout, dims: Sequence[int], keepdims: bool = False) -> Layout:
    """The layout of the tile reduced over the axes `dims` (Tilus paper, Appendix B.1).

    A thread keeps one of its elements along them; threads that differ only along them hold the same
    elements. With `keepdims` the axes stay with extent 1. Where no axis is left, the shape is (1,).
    """
    gone = {checked_axis(layout, d) for d in dims}
    for swizzle in layout.swizzles:
        if swizzle.source in gone and swizzle.dim not in gone:
            raise error(
                "DSL0306",
                f"{layout} cannot be reduced over axis {swizzle.source}: a swizzle moves axis "
                f"{swizzle.dim} by it",
            )
    kept = Layout(
        tuple(1 if d in gone else n for d, n in enumerate(layout.shape)),
        tuple(replicated(m.size) if m.axis in gone else m for m in layout.spatial_modes),
        tuple(m for m in layout.local_modes if m.axis not in gone),
        tuple(s for s in layout.swizzles if s.dim not in gone),
    )
    return kept if keepdims else squeeze(kept, sorted(gone))


def slice_tile(layout: Layout, axis: int, start: int, size: int) -> Layout:
    """The layout of the elements [start, start + size) of an axis, as a tile of its own.

    Every thread must hold a part of it: the digits that the slice fixes or narrows are local.
    DSL0305 otherwise.
    """
    axis = checked_axis(layout, axis)
    if not (start >= 0 and size >= 1 and start + size <= layout.shape[axis]):
        raise error("DSL0305", f"[{start}, {start + size}) is not within axis {axis} of {layout}")
    if size == layout.shape[axis]:
        return layout
    sides = [
        _narrowed(side, axis, start, size) for side in (layout.spatial_modes, layout.local_modes)
    ]
    what = f"the slice [{start}, {start + size}) of axis {axis} of {layout}"
    if sides[0] is None or sides[1] is None:
        raise error("DSL0305", f"{what} begins or ends within a digit")
    if prod(m.size for m in sides[0]) != layout.threads:
        raise error("DSL0305", f"{what} lies in some of the threads only")
    shape = tuple(size if d == axis else n for d, n in enumerate(layout.shape))
    swizzles = []
    for s in layout.swizzles:
        if s.source == axis and start % (s.source_unit * s.source_size) == 0:
            s = replace(s, source_size=min(s.source_size, max(1, size // s.source_unit)))  # noqa: PLW2901
        elif s.source == axis:
            raise error("DSL0305", f"{what} is moved by a swizzle")
        if (s.dim == axis and start % (s.unit * s.size)) or not s.is_valid(shape):
            raise error("DSL0305", f"{what} is moved by a swizzle")
        swizzles.append(s)
    return Layout(shape, sides[0], sides[1], tuple(swizzles))


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[d + 1 :]) for d in range(len(shape))]


def _flatten(layout: Layout) -> Layout:
    strides = _strides(layout.shape)
    sides = [
        tuple(m if m.is_replicated else Mode(m.size, 0, m.stride * strides[m.axis]) for m in side)
        for side in (layout.spatial_modes, layout.local_modes)
    ]
    cells = [Cell(d, 1, n, 0, strides[d]) for d, n in enumerate(layout.shape)]
    swizzles = all_through_cells(layout.swizzles, cells)
    assert swizzles is not None, "an axis is one cell"
    return Layout((layout.elements,), sides[0], sides[1], swizzles)


def _cut(side: Modes, ends: Sequence[int]) -> Modes | None:
    """Modes of one flat axis as modes of axes whose strides in it are `ends`, falling."""
    out: list[Mode] = []
    for mode in side:
        if mode.is_replicated:
            out.append(mode)
            continue
        rest = mode
        for axis, end in enumerate(ends):
            reach = rest.stride * rest.size
            if rest.size == 1 or reach <= end:
                continue
            if rest.stride >= end:
                if rest.stride % end:
                    return None
                out.append(Mode(rest.size, axis, rest.stride // end))
                rest = Mode(1, 0, rest.stride)
                continue
            low, left_over = divmod(end, rest.stride)
            if left_over or rest.size % low:
                return None
            high, rest = split_mode(rest, low)
            out.append(Mode(high.size, axis, 1))
    return tuple(out)


def _narrowed(side: Modes, axis: int, start: int, size: int) -> Modes | None:
    """The digits that still move within the slice; None where an end lies within a digit."""
    out: list[Mode] = []
    for mode in side:
        reach = mode.stride * mode.size
        if mode.axis != axis or (reach <= size and start % reach == 0 and size % reach == 0):
            out.append(mode)
        elif mode.stride >= size:
            if start % mode.stride + size > mode.stride:
                return None
        else:
            count, left_over = divmod(size, mode.stride)
            if (
                left_over
                or start % mode.stride
                or start // mode.stride % mode.size + count > mode.size
            ):
                return None
            out.append(Mode(count, axis, mode.stride))
    return coalesce_modes(out)
