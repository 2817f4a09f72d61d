"""Running error analysis: numbers with a bound on how far a correct kernel may be from them.

A reference computes in float64 on `Near` arrays. Each operation that a kernel does in f32, or rounds
to its element type, widens the bound by that operation's worst rounding error (Higham, Accuracy and
Stability of Numerical Algorithms, chapter 3), whatever the order of its sums. So a test's tolerance
is derived, not tuned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# Unit roundoff, and half the distance between the least numbers.
ROUNDING = {
    "f16": (2.0**-11, 2.0**-25),
    "bf16": (2.0**-8, 2.0**-134),
    "f32": (2.0**-24, 2.0**-150),
}
U32 = 2.0**-24
# A machine's exp or division may be a few units in the last place off.
FUNCTION = 8 * U32


@dataclass(frozen=True, eq=False)
class Near:
    """The exact `value` in float64 and the greatest `error` that a kernel may make."""

    value: Array
    error: Array | float = 0.0

    @property
    def size(self) -> Array:
        """The greatest magnitude that the kernel's number may have."""
        return np.abs(self.value) + self.error

    def rounded(self, dtype: str) -> Near:
        """After a cast to an element type."""
        unit, least = ROUNDING[dtype]
        return Near(self.value, self.error + unit * self.size + least)

    def __getitem__(self, key: Any) -> Near:
        error = np.broadcast_to(self.error, self.value.shape)
        return Near(self.value[key], error[key])

    def reshape(self, *shape: int) -> Near:
        error = np.broadcast_to(self.error, self.value.shape)
        return Near(self.value.reshape(*shape), error.reshape(*shape))

    def __add__(self, other: Near) -> Near:
        return Near(self.value + other.value, self.error + other.error).rounded("f32")

    def __sub__(self, other: Near) -> Near:
        return Near(self.value - other.value, self.error + other.error).rounded("f32")

    def __mul__(self, other: Near) -> Near:
        error = self.size * other.size - np.abs(self.value) * np.abs(other.value)
        return Near(self.value * other.value, error).rounded("f32")

    def __matmul__(self, other: Near) -> Near:
        terms = self.value.shape[-1] + 1
        most = self.size @ other.size
        error = most - np.abs(self.value) @ np.abs(other.value)
        return Near(self.value @ other.value, error + terms * U32 * most)

    def sum(self, axis: int = -1) -> Near:
        """The sum along an axis, kept with extent 1."""
        terms = self.value.shape[axis]
        error = np.broadcast_to(self.error, self.value.shape).sum(axis, keepdims=True)
        error = error + terms * U32 * self.size.sum(axis, keepdims=True)
        return Near(self.value.sum(axis, keepdims=True), error)

    def apply(self, function: Callable[[Array], Array], slope: Array | float) -> Near:
        """`function` of it, whose derivative is at most `slope` in magnitude nearby."""
        value = function(self.value)
        return Near(value, slope * self.error + FUNCTION * np.abs(value))


def exact(array: Array) -> Near:
    """An input: a kernel reads it without error."""
    return Near(np.asarray(array).astype(np.float64))


def silu(x: Near) -> Near:
    """x * sigmoid(x): its slope is at most 1.1; the sigmoid's error is relative."""
    return x.apply(lambda v: v / (1 + np.exp(-v)), 1.1).rounded("f32")
