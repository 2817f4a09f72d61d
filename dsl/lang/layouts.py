"""Layouts: how a tile is spread over threads (see docs/layouts.md).

Unlike the rest of the language these work in plain Python as well, so that a layout can be made once
and named in several kernels: `L = local(2, 1).spatial(8, 4).local(1, 2)`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from dslc.lang.stub import outside_kernel

if TYPE_CHECKING:
    from dslc.compiler.layout import Layout

F = TypeVar("F", bound=Callable[..., Any])


def _layout_function(function: F) -> F:
    name = function.__name__

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        from dslc.compiler.layout import LAYOUT_FUNCTIONS

        return LAYOUT_FUNCTIONS[name](*args, **kwargs)

    return call  # type: ignore[return-value]


def _tile_or_layout_function(function: F) -> F:
    on_layout = _layout_function(function)

    @wraps(function)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        from dslc.compiler.layout import Layout

        if not isinstance(x, Layout):
            raise outside_kernel(function.__name__)
        return on_layout(x, *args, **kwargs)

    return call  # type: ignore[return-value]


@_layout_function
def local(*shape: int) -> Layout:
    """All elements on one thread, the last axis fastest."""


@_layout_function
def spatial(*shape: int) -> Layout:
    """One element a thread, the last axis fastest."""


@_layout_function
def column_local(*shape: int) -> Layout:
    """All elements on one thread, the first axis fastest."""


@_layout_function
def column_spatial(*shape: int) -> Layout:
    """One element a thread, the first axis fastest."""


@_layout_function
def replicate(n: int, **options: Any) -> Layout:
    """The same elements on each of `n` threads."""


@_layout_function
def reduce(f: Layout, dims: Any, **options: Any) -> Layout:
    """The layout of a tile reduced over `dims`: their threads hold copies."""


@_layout_function
def swizzle(f: Layout, **options: Any) -> Layout:
    """`f` with the coordinates of one axis xored by those of another: `dim=1, log_step=0`."""


@_layout_function
def permute(f: Layout, *axes: Any, **options: Any) -> Layout:
    """`f` with its axes in another order."""


@_tile_or_layout_function
def broadcast(x: Any, *shape: Any, **options: Any) -> Any:
    """`broadcast(tile, shape)` as NumPy's broadcast_to; `broadcast(layout, rank)` adds axes."""


@_tile_or_layout_function
def reshape(x: Any, *shape: Any, **options: Any) -> Any:
    """The same elements in row-major order under another shape: of a tile or of a layout."""
