"""Making tiles, their types and shapes, and the product of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dslc.lang.stub import in_kernel


@in_kernel
def zeros(dtype: Any, shape: Sequence[Any], *, layout: Any = None) -> Any:
    """A tile of zeros. The shape is known at compile time."""


@in_kernel
def full(dtype: Any, shape: Sequence[Any], value: Any, *, layout: Any = None) -> Any:
    """A tile whose elements are all `value`, a scalar converted to `dtype`."""


@in_kernel
def arange(n: Any, *, layout: Any = None) -> Any:
    """0, 1, ... n - 1 as a tile of i32 and shape [n]."""


@in_kernel
def cast(x: Any, dtype: Any, *, saturate: bool = False, layout: Any = None) -> Any:
    """The values of `x` as another dtype, the shape kept.

    To a float: rounds to nearest even. Float to integer: truncates and saturates, NaN gives 0.
    Integer to a narrower integer: wraps, or clamps where `saturate`. To bool: != 0.
    """


@in_kernel
def view(x: Any, dtype: Any, layout: Any) -> Any:
    """The same bits of each thread, seen as another dtype and layout: free of cost.

    An error unless both spread the same number of bits over the same number of threads.
    """


@in_kernel
def dot(a: Any, b: Any, *, transposed: str = "", layout: Any = None) -> Any:
    """The matrix product [.., m, k] x [.., k, n] -> [.., m, n], batched over leading axes.

    Integers of any width and signedness accumulate in i32. Floats are of one dtype, or both of 8
    bits and fewer, and accumulate in f32 (f64 in f64). `acc += dot(a, b)` accumulates in place.
    `transposed` is "a", "b" or "ab": that operand comes as [k, m] or [n, k].
    """


@in_kernel
def transpose(x: Any, axes: Sequence[int] | None = None) -> Any:
    """Axis i of the result is axis axes[i] of `x`; without `axes` the last two are swapped."""


@in_kernel
def repeat(x: Any, n: Any, axis: int) -> Any:
    """Each element `n` times along the axis, as NumPy's repeat."""


@in_kernel
def where(cond: Any, x: Any, y: Any) -> Any:
    """Per element: `x` where `cond` (bool) holds, else `y`. The three are broadcast."""


@in_kernel
def select(cond: Any, x: Any, y: Any) -> Any:
    """Of two scalars: `x` if `cond` holds, else `y`."""


@in_kernel
def dim(t: Any, axis: int) -> Any:
    """The extent of a tensor or tile along an axis, as an index scalar."""


@in_kernel
def turns_at_once() -> Any:
    """How many turns the machine that is compiled for runs at once: its multiprocessors, or cores."""


@in_kernel
def cdiv(a: Any, b: Any) -> Any:
    """A / b rounded up, on index scalars."""
