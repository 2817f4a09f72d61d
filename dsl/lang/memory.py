"""Reading and writing memory; a region is a subscripted tensor such as `t[i : i + B, j]`.

Reads out of bounds give 0 or `other`, writes out of bounds are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dslc.lang.stub import in_kernel


@in_kernel
def load(region: Any, other: Any = 0, where: Any = None, *, layout: Any = None) -> Any:
    """The tile of a region, with `other` where it is out of bounds or the mask `where` is False.

    The mask is a tile of bools that broadcasts to the region, or one bool.
    """


@in_kernel
def store(region: Any, x: Any, where: Any = None) -> None:
    """`region = x` where the mask `where` holds; other elements stay as they are.

    The mask is a tile of bools that broadcasts to the region, or one bool.
    """


@in_kernel
def gather(region: Any, ids: Any, axis: int) -> Any:
    """Rows by index: `gather(t[:, h : h + B], ids, 0)` is t[ids, h : h + B].

    The gathered axis is written `:`. `ids` is a tile of integers; ids out of range read 0. Of a tile
    `gather(x, ids, 1)` is x[:, ids].
    """


@in_kernel
def scatter(region: Any, ids: Any, x: Any, axis: int) -> None:
    """Write rows by index, the inverse of `gather`; ids out of range are dropped.

    Equal ids in one scatter are a race.
    """


@in_kernel
def atomic_add(region: Any, x: Any) -> Any:
    """Add to a region, each element atomically; gives what stood there before."""


@in_kernel
def atomic_max(region: Any, x: Any) -> Any:
    """Leave the greater of what stands there and x, each element atomically; gives what stood there."""


@in_kernel
def atomic_min(region: Any, x: Any) -> Any:
    """Leave the less of what stands there and x, each element atomically; gives what stood there."""


@in_kernel
def atomic_exchange(region: Any, x: Any) -> Any:
    """Write to a region, each element atomically; gives what stood there before."""


@in_kernel
def atomic_cas(region: Any, expected: Any, x: Any) -> Any:
    """Write x where an element has the bits of `expected`; gives what stood there before."""


@in_kernel
def buffer(dtype: Any, shape: Sequence[Any], init: Any = None) -> Any:
    """Mutable storage on the chip, private to a parallel turn, read and written by slices.

    In a program: a tensor that passes between its kernels, with `init` one that begins at a number.
    """
