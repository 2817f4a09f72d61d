"""Reductions: over one axis, which is dropped unless `keepdims`; over all without an axis.

Axes count from 0, or from the end. `sum`, `min`, `max`, `any` and `all` are Python's own outside a
kernel.
"""
# ruff: noqa: A001 - the language shares these names with Python

from __future__ import annotations

from typing import Any

from dslc.lang.stub import in_kernel, or_builtin


@or_builtin
def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum along an axis."""


@or_builtin
def max(x: Any, axis: Any = None, *more: Any, keepdims: bool = False) -> Any:
    """The greatest element along an axis (NaN wins), or the greater of two scalars."""


@or_builtin
def min(x: Any, axis: Any = None, *more: Any, keepdims: bool = False) -> Any:
    """The least element along an axis (NaN wins), or the lesser of two scalars."""


@or_builtin
def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether some element of a bool tile holds."""


@or_builtin
def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether every element of a bool tile holds."""


@in_kernel
def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The index (i32) of the greatest element along an axis, the first of equals."""


@in_kernel
def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The index (i32) of the least element along an axis, the first of equals."""


@in_kernel
def cumsum(x: Any, axis: Any) -> Any:
    """The inclusive running sum along an axis; the shape stays."""


@in_kernel
def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product along an axis."""


@in_kernel
def cumprod(x: Any, axis: Any) -> Any:
    """The inclusive running product along an axis; the shape stays."""


@in_kernel
def cummax(x: Any, axis: Any) -> Any:
    """The greatest element so far along an axis; the shape stays."""


@in_kernel
def cummin(x: Any, axis: Any) -> Any:
    """The least element so far along an axis; the shape stays."""


@in_kernel
def scan(f: Any, x: Any, axis: Any, reverse: bool = False) -> Any:
    """What f makes of the elements up to each along an axis, or from each on; the shape stays.

    x is a tile or a list of tiles, and so is each argument of f, which takes what lies before and what
    lies behind and is associative.
    """
