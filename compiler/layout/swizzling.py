"""The swizzle operator (Tilus paper, Appendix B.1)."""

from __future__ import annotations

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.composition import checked_axis
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.swizzles import Swizzle


def swizzle(layout: Layout, dim: int = 1, log_step: int = 0, source: int | None = None) -> Layout:
    """g(t, i) = s(f(t, i)) with s(.., x, .., y, ..) = (.., x, .., y xor (x >> log_step), ..).

    y is the coordinate along `dim`, x that along `source`, by default the axis before `dim` (axis 1
    where `dim` is 0). Only the bits of y that its extent holds whole take part: an extent of 24 is
    three blocks of 8, within each of which the low three bits are changed. DSL0306 where the extent
    is odd, or where x's extent ends within a step.
    """
    dim = checked_axis(layout, dim)
    if source is None:
        source = dim - 1 if dim else 1
    if layout.rank < 2 or source == dim:
        raise error("DSL0306", f"swizzle changes one axis by another: {layout} has {layout.rank}")
    source = checked_axis(layout, source)
    if isinstance(log_step, bool) or not isinstance(log_step, int) or not 0 <= log_step < 64:
        raise error("DSL0306", f"swizzle's log_step is an integer from 0 to 63, not {log_step!r}")
    extent, steps = layout.shape[dim], layout.shape[source]
    size = extent & -extent
    if size == 1 and extent > 1:
        raise error("DSL0306", f"swizzle of {layout}: axis {dim} has the odd extent {extent}")
    if steps <= 1 << log_step:
        return layout
    if steps % (1 << log_step):
        raise error(
            "DSL0306",
            f"swizzle of {layout}: the extent {steps} of axis {source} is no multiple of the step "
            f"{1 << log_step}",
        )
    change = Swizzle(dim, 1, size, source, 1 << log_step, steps >> log_step)
    return Layout(
        layout.shape, layout.spatial_modes, layout.local_modes, (*layout.swizzles, change)
    )
