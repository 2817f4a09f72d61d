"""The order of a thread's own elements: those that are neighbours along an axis, one after another."""

from __future__ import annotations

from dslc.compiler.layout.layout import Layout


def neighbours_last(layout: Layout, axis: int) -> Layout:
    """The same elements for each thread, numbered so that neighbours along an axis come together.

    The layout itself where a thread has no neighbours there.
    """
    for mode in layout.local_modes:
        if mode.axis == axis and mode.stride == 1 and mode.size > 1:
            others = tuple(m for m in layout.local_modes if m is not mode)
            return Layout(layout.shape, layout.spatial_modes, (*others, mode), layout.swizzles)
    return layout
