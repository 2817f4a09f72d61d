"""Elementwise arithmetic, on tiles and scalars; dtype and shape stay.

f16 and bf16 compute in f32 and round once per operation. Floats of 8 bits and fewer are cast first.
`abs` and `round` are Python's own outside a kernel.
"""
# ruff: noqa: A001 - the language shares these names with Python

from __future__ import annotations

from typing import Any

from dslc.lang.stub import in_kernel, or_builtin


@in_kernel
def minimum(x: Any, y: Any) -> Any:
    """The lesser of two elements; NaN if either is. Operands are broadcast."""


@in_kernel
def maximum(x: Any, y: Any) -> Any:
    """The greater of two elements; NaN if either is. Operands are broadcast."""


@in_kernel
def clamp(x: Any, lo: Any, hi: Any) -> Any:
    """`x` no less than `lo` and no more than `hi`."""


@in_kernel
def fma(x: Any, y: Any, z: Any) -> Any:
    """X * y + z, rounded once."""


@or_builtin
def abs(x: Any) -> Any:
    """The absolute value."""


@or_builtin
def round(x: Any, *digits: Any) -> Any:
    """The nearest whole number, half to even."""


@in_kernel
def floor(x: Any) -> Any:
    """The greatest whole number that is not above x."""


@in_kernel
def ceil(x: Any) -> Any:
    """The least whole number that is not below x."""


@in_kernel
def exp(x: Any) -> Any:
    """E to the power x."""


@in_kernel
def exp2(x: Any) -> Any:
    """2 to the power x."""


@in_kernel
def log(x: Any) -> Any:
    """The natural logarithm."""


@in_kernel
def log2(x: Any) -> Any:
    """The logarithm to base 2."""


@in_kernel
def sqrt(x: Any) -> Any:
    """The square root."""


@in_kernel
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""


@in_kernel
def sin(x: Any) -> Any:
    """The sine of an angle in radians."""


@in_kernel
def cos(x: Any) -> Any:
    """The cosine of an angle in radians."""


@in_kernel
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""


@in_kernel
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""


@in_kernel
def erf(x: Any) -> Any:
    """The error function."""
