"""Order along an axis, counted from 0 or from the end. A NaN is greater than every number."""

from __future__ import annotations

from typing import Any

from dslc.lang.stub import in_kernel


@in_kernel
def sort(x: Any, axis: Any, descending: bool = False) -> Any:
    """The elements of an axis in order; tiles of a list in the order of the first.

    Equal elements stay as they stand.
    """


@in_kernel
def argsort(x: Any, axis: Any, descending: bool = False) -> Any:
    """Where the elements stand that `sort` puts in order (i32); equal ones as they stand."""


@in_kernel
def topk(x: Any, k: Any, axis: Any) -> Any:
    """The k greatest elements of an axis, the greatest first, and where they stand (i32): two tiles."""
