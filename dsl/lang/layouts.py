"""The functions of the language that take tiles as well as layouts.

On layouts they work in plain Python, as all layout functions do: a layout can be made once and named
in several kernels, `L = local(2, 1).spatial(8, 4).local(1, 2)` (see docs/layouts.md).
"""

from __future__ import annotations

from typing import Any

from dslc.compiler.layout import Layout, call_layout_function
from dslc.lang.stub import outside_kernel


def broadcast(x: Any, shape: Any) -> Any:
    """`broadcast(tile, shape)` as NumPy's broadcast_to; `broadcast(layout, rank)` adds axes."""
    return _on_layouts("broadcast", x, shape)


def reshape(x: Any, shape: Any) -> Any:
    """The same elements in row-major order under another shape: of a tile or of a layout."""
    return _on_layouts("reshape", x, shape)


def concat(xs: Any, axis: Any) -> Any:
    """Tiles, or equal layouts, one after another along the axis.

    The tiles' other extents and dtypes agree.
    """
    return _on_layouts("concat", xs, axis)


def reduce(
    f: Any, x: Any = None, axis: Any = None, keepdims: bool = False, dims: Any = None
) -> Any:
    """`reduce(f, x, axis)`: f between the elements of an axis; `reduce(layout, dims)` drops axes.

    x is a tile or a list of tiles, and so is each argument of f, which takes what lies before and what
    lies behind and is associative.
    """
    return _on_layouts("reduce", f, x if dims is None else dims, keepdims)


def _on_layouts(name: str, x: Any, *arguments: Any) -> Layout:
    first = x[0] if isinstance(x, list | tuple) and x else x
    if not isinstance(first, Layout):
        raise outside_kernel(name)
    return call_layout_function(name, (x, *arguments), {})
