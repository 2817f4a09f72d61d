"""Division, the inverse of composition, and the complement."""

from __future__ import annotations

from collections.abc import Sequence

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.composition import broadcast, compose
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.mode import Mode, Modes, split_modes


def divide(h: Layout, g: Layout) -> Layout:
    """The f with h == f * g (Tilus paper, Definition 6); DSL0303 says why there is none.

    For layouts without swizzles f is found whenever it exists. A swizzle of h belongs to f where its
    digits lie above g's tile.
    """
    quotient = _divide(h, g)
    if isinstance(quotient, str):
        raise error("DSL0303", f"{h} cannot be divided by {g}: {quotient}")
    return quotient


def left_divide(h: Layout, f: Layout) -> Layout:
    """The g with h == f * g; DSL0303 says why there is none."""
    quotient = _left_divide(h, f)
    if isinstance(quotient, str):
        raise error("DSL0303", f"{f} is no left factor of {h}: {quotient}")
    return quotient


def divisible(h: Layout, g: Layout) -> bool:
    """Whether some f has h == f * g."""
    return isinstance(_divide(h, g), Layout)


def complement(layout: Layout, shape: Sequence[int] | None = None) -> Layout:
    """What one thread does not hold: c(j, t) = f(t, j), the two sides exchanged.

    With a shape, first the layout of that tile that repeats f in each thread, row-major over the
    copies. DSL0307 for a layout that replicates: two local elements would be one.
    """
    if shape is not None:
        layout = compose(_copies(layout, tuple(shape)), layout)
    if not layout.is_injective:
        raise error("DSL0307", f"{layout} holds elements in several threads: it has no complement")
    return Layout(layout.shape, layout.local_modes, layout.spatial_modes, layout.swizzles)


def split_at(
    h: Layout, shape: Sequence[int], threads: int, count: int
) -> tuple[Layout, Layout] | str:
    """The (f, g) with h == f * g where g has that shape, threads and elements per thread.

    A sentence where there are none. Swizzles above g's tile go to f, the others to g.
    """
    sizes = zip(h.shape, shape, strict=True)
    for axis, (extent, inner) in enumerate(sizes):
        if extent % inner:
            return f"the extent {extent} of axis {axis} is no multiple of {inner}"
    sides: list[tuple[Modes, Modes]] = []
    for name, modes, weight in (
        ("threads", h.spatial_modes, threads),
        ("elements per thread", h.local_modes, count),
    ):
        parts = split_modes(modes, weight)
        if parts is None:
            return f"its {name} have no digit of weight {weight}"
        sides.append(parts)
    for high, low in sides:
        for mode in (m for m in (*high, *low) if not m.is_replicated):
            inside = mode.stride * mode.size <= shape[mode.axis]
            outside = mode.stride % shape[mode.axis] == 0
            if not (inside if mode in low else outside):
                return (
                    f"the digits of axis {mode.axis} are spread over the threads in another order"
                )
    above = [s for s in h.swizzles if _is_above(s.unit, s.dim, s.source_unit, s.source, shape)]
    below = [s for s in h.swizzles if s not in above]
    outer = tuple(n // d for n, d in zip(h.shape, shape, strict=True))
    if any(not s.is_valid(shape) for s in below):
        return "a swizzle reaches across the two"
    f = Layout(
        outer,
        _shrunk(sides[0][0], shape),
        _shrunk(sides[1][0], shape),
        tuple(s.shrunk(shape) for s in above),
    )
    return f, Layout(tuple(shape), sides[0][1], sides[1][1], tuple(below))


def split_tile(h: Layout, shape: Sequence[int]) -> tuple[Layout, Layout] | None:
    """The (f, g) with h == f * g and g of that shape; replicated digits between them go to f."""
    weights = [_weight_inside(side, shape) for side in (h.spatial_modes, h.local_modes)]
    parts = split_at(h, shape, *weights)
    return None if isinstance(parts, str) else parts


def _divide(h: Layout, g: Layout) -> Layout | str:
    rank = max(h.rank, g.rank)
    h, g = broadcast(h, rank), broadcast(g, rank)
    if h.threads % g.threads or h.locals % g.locals:
        return _no_multiple(h, g)
    parts = split_at(h, g.shape, g.threads, g.locals)
    if isinstance(parts, str):
        return parts
    if parts[1] != g:
        return f"its innermost factor of shape {list(g.shape)} is {parts[1]}"
    return parts[0]


def _left_divide(h: Layout, f: Layout) -> Layout | str:
    rank = max(h.rank, f.rank)
    h, f = broadcast(h, rank), broadcast(f, rank)
    if h.threads % f.threads or h.locals % f.locals:
        return _no_multiple(h, f)
    for axis, (extent, outer) in enumerate(zip(h.shape, f.shape, strict=True)):
        if extent % outer:
            return f"the extent {extent} of axis {axis} is no multiple of {outer}"
    shape = [n // d for n, d in zip(h.shape, f.shape, strict=True)]
    parts = split_at(h, shape, h.threads // f.threads, h.locals // f.locals)
    if isinstance(parts, str):
        return parts
    if parts[0] != f:
        return f"its outermost factor of shape {list(f.shape)} is {parts[0]}"
    return parts[1]


def _no_multiple(h: Layout, part: Layout) -> str:
    return (
        f"{h.threads} threads with {h.locals} elements are no multiples of {part.threads} with "
        f"{part.locals}"
    )


def _is_above(unit: int, dim: int, source_unit: int, source: int, shape: Sequence[int]) -> bool:
    return unit % shape[dim] == 0 and source_unit % shape[source] == 0


def _shrunk(modes: Modes, shape: Sequence[int]) -> Modes:
    return tuple(
        m if m.is_replicated else Mode(m.size, m.axis, m.stride // shape[m.axis]) for m in modes
    )


def _weight_inside(side: Modes, shape: Sequence[int]) -> int:
    """The weight above the trailing digits that move within a tile of that shape."""
    weight = 1
    for mode in reversed(side):
        if mode.is_replicated or mode.stride >= shape[mode.axis]:
            break
        reach = mode.stride * mode.size
        if reach > shape[mode.axis]:
            return weight * (shape[mode.axis] // mode.stride)
        weight *= mode.size
    return weight


def _copies(layout: Layout, shape: tuple[int, ...]) -> Layout:
    if len(shape) != layout.rank:
        raise error("DSL0302", f"{layout} has rank {layout.rank}, the shape {list(shape)} another")
    if any(n % d for n, d in zip(shape, layout.shape, strict=True)):
        raise error("DSL0303", f"{list(shape)} is no multiple of the shape of {layout}")
    outer = tuple(n // d for n, d in zip(shape, layout.shape, strict=True))
    return Layout(outer, (), tuple(Mode(n, axis, 1) for axis, n in enumerate(outer)))
