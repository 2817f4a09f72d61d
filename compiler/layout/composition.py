"""Composition, the direct product and concatenation."""

from __future__ import annotations

from functools import reduce as fold

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.mode import Mode, Modes, scale_modes


def compose(*layouts: Layout) -> Layout:
    """F * g * ...: each element of f's tile becomes a tile of g (Tilus paper, Definition 4).

    h(t, i) = f(t // T_g, i // m_g) * S_g + g(t % T_g, i % m_g). A layout of lower rank is broadcast
    first (Definition 5), so this is defined for all layouts; local(1) is the identity.
    """
    return fold(Layout.composed, layouts)


def _compose(f: Layout, g: Layout) -> Layout:
    rank = max(f.rank, g.rank)
    f, g = broadcast(f, rank), broadcast(g, rank)
    return Layout(
        tuple(a * b for a, b in zip(f.shape, g.shape, strict=True)),
        scale_modes(f.spatial_modes, g.shape) + g.spatial_modes,
        scale_modes(f.local_modes, g.shape) + g.local_modes,
        tuple(s.scaled(g.shape) for s in f.swizzles) + g.swizzles,
    )


def broadcast(layout: Layout, rank: int) -> Layout:
    """The layout over more axes: axes of extent 1 come first (Tilus paper, Definition 5)."""
    more = rank - layout.rank
    if more < 0:
        raise error("DSL0302", f"{layout} has rank {layout.rank}: it cannot be broadcast to {rank}")
    return _renumbered(layout, (1,) * more + layout.shape, tuple(range(more, rank)))


def product(f: Layout, g: Layout) -> Layout:
    """The direct product over disjoint axes: h(t, i) = (f(t // T_g, i // m_g), g(t % T_g, i % m_g)).

    The shape is f's axes followed by g's.
    """
    shape = f.shape + g.shape
    high = _renumbered(f, f.shape + (1,) * g.rank, tuple(range(f.rank)))
    low = _renumbered(g, (1,) * f.rank + g.shape, tuple(range(f.rank, len(shape))))
    return compose(high, low)


def concat(layouts: tuple[Layout, ...] | list[Layout], axis: int) -> Layout:
    """The layout of equal tiles one after another along an axis; threads hold the first one's first.

    Tiles that lie differently have no common layout: DSL0308.
    """
    if not layouts:
        raise error("DSL0308", "concat needs at least one layout")
    first = layouts[0]
    for other in layouts[1:]:
        if other != first:
            raise error("DSL0308", f"only equal layouts concatenate: {first} and {other} differ")
    axis = checked_axis(first, axis)
    outer = tuple(len(layouts) if d == axis else 1 for d in range(first.rank))
    return compose(Layout(outer, (), (Mode(len(layouts), axis, 1),)), first)


def checked_axis(layout: Layout, axis: int) -> int:
    """The axis counted from 0; DSL0302 where the layout has no such axis."""
    if (
        isinstance(axis, bool)
        or not isinstance(axis, int)
        or not -layout.rank <= axis < layout.rank
    ):
        raise error("DSL0302", f"{layout} has {layout.rank} axes: there is no axis {axis!r}")
    return axis % layout.rank


def renumber_modes(modes: Modes, axes: tuple[int, ...]) -> Modes:
    """The modes where axis d is now axis axes[d]."""
    return tuple(m if m.is_replicated else Mode(m.size, axes[m.axis], m.stride) for m in modes)


def _renumbered(layout: Layout, shape: tuple[int, ...], axes: tuple[int, ...]) -> Layout:
    return Layout(
        shape,
        renumber_modes(layout.spatial_modes, axes),
        renumber_modes(layout.local_modes, axes),
        tuple(s.moved(axes) for s in layout.swizzles),
    )


Layout.composed = _compose
