"""From a logical index back to the thread and the local element that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.coordinates import Cell, all_through_cells
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.mode import Mode, Modes, with_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def inverse(layout: Layout) -> Layout:
    """The layout of shape (T, m) with one thread whose element number x is the (t, i) that hold x.

    x is the row-major number of the logical index: inverse(f).index(0, x) == (t, i) exactly where
    f.index(t, i) is x's index. DSL0307 for a layout that replicates.
    """
    if not layout.is_injective:
        raise error("DSL0307", f"{layout} holds elements in several threads: it has no inverse")
    sides = (with_weights(layout.spatial_modes), with_weights(layout.local_modes))
    cells = [
        Cell(mode.axis, mode.stride, mode.size, side, weight)
        for side, weighted in enumerate(sides)
        for mode, weight in weighted
    ]
    swizzles = all_through_cells(reversed(layout.swizzles), cells)
    if swizzles is None:
        raise error(
            "DSL0307", f"the swizzle of {layout} crosses its modes: it has no inverse layout"
        )
    ordered = sorted(cells, key=lambda c: (c.axis, -c.stride))
    modes = tuple(Mode(c.size, c.new_axis, c.new_stride) for c in ordered)
    return Layout((layout.threads, layout.locals), (), modes, swizzles)


def owners(layout: Layout, group: int = 1, *, first: bool = False) -> NDArray[np.int32]:
    """Which group of so many threads holds each element, int32 of the layout's shape.

    An element that several groups hold has -1, or the first of them.
    """
    import numpy as np

    numbers = layout.numbers()
    threads = np.arange(layout.threads, dtype=np.int32)[:, None] // group
    held = np.broadcast_to(threads, numbers.shape)
    lowest = np.full(layout.elements, layout.threads, np.int32)
    np.minimum.at(lowest, numbers, held)
    if not first and not layout.is_injective:
        highest = np.full(layout.elements, -1, np.int32)
        np.maximum.at(highest, numbers, held)
        lowest = np.where(lowest == highest, lowest, np.int32(-1))
    return lowest.reshape(layout.shape)


def locate(layout: Layout, index: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The threads that hold the element at a logical index, ascending, and its local number."""
    if len(index) != layout.rank:
        raise IndexError(f"{index} has not the rank of {layout}")
    for x, extent in zip(index, layout.shape, strict=True):
        if not 0 <= x < extent:
            raise IndexError(f"{index} is not within {layout.shape}")
    t, i = _locate(layout, list(index))
    threads = [int(t)]
    for mode, weight in with_weights(layout.spatial_modes):
        if mode.is_replicated:
            threads = [copy + weight * digit for copy in threads for digit in range(mode.size)]
    return tuple(sorted(threads)), int(i)


def locations(layout: Layout) -> NDArray[np.int64]:
    """The whole inverse, int64 of shape [*shape, 2]: the first thread that holds it, and where."""
    import numpy as np

    t, i = _locate(layout, list(np.indices(layout.shape, dtype=np.int64)))
    zero = np.zeros(layout.shape, dtype=np.int64)
    return np.stack([zero + t, zero + i], axis=-1)


def local_numbers(layout: Layout, coordinates: Sequence[Any]) -> Any:
    """The local element numbers (addresses, for memory) of logical coordinates, one array an axis."""
    return _locate(layout, list(coordinates))[1]


def _locate(layout: Layout, coordinates: list[Any]) -> tuple[Any, Any]:
    for swizzle in reversed(layout.swizzles):
        swizzle.apply(coordinates)
    return _number(layout.spatial_modes, coordinates), _number(layout.local_modes, coordinates)


def _number(side: Modes, coordinates: Sequence[Any]) -> Any:
    number: Any = 0
    for mode, weight in with_weights(side):
        if not mode.is_replicated:
            number = number + coordinates[mode.axis] // mode.stride % mode.size * weight
    return number
