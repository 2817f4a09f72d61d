"""The explicit level: what the compiler's passes decide, written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dslc.lang.stub import in_kernel


@in_kernel
def shared(dtype: Any, shape: Sequence[Any] | None = None, *, layout: Any = None) -> Any:
    """Memory that all threads of a turn share. With a layout the shape may be left out."""


@in_kernel
def register(
    dtype: Any, shape: Sequence[Any] | None = None, *, layout: Any = None, init: Any = None
) -> Any:
    """A tile in registers, of a shape or of a layout's shape; undefined unless `init` is given."""


@in_kernel
def copy_async(dst: Any, src: Any) -> None:
    """Start a copy between two regions; it has landed only after the wait for its group."""


@in_kernel
def commit() -> None:
    """Make one group of the copies started since the last commit."""


@in_kernel
def wait(n: int) -> None:
    """Wait until at most `n` groups of copies are under way."""


@in_kernel
def sync() -> None:
    """A barrier of all threads of the turn."""


@in_kernel
def semaphore_wait(region: Any, value: Any) -> None:
    """Wait until the one element of the region equals `value`, then see what was released."""


@in_kernel
def semaphore_release(region: Any, value: Any) -> None:
    """Publish earlier writes, then set the one element of the region to `value`."""


@in_kernel
def grid(*extents: Any) -> None:
    """The number of parallel turns along each axis, in place of `parallel`."""


@in_kernel
def block_index() -> Any:
    """The turn's place in the `grid`: as many index scalars as the grid has axes."""
