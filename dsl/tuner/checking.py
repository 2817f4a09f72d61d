"""Whether two configurations compute the same, as far as rounding lets them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.dtypes import DType, Kind, decode

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_TOLERANCE = 2e-2  # of the larger of an element and the root mean square of all
_MOST = 1 << 20  # elements that are compared
_ENDS = 1 << 16  # at both ends, where edges go wrong


def difference(reference: Array, result: Array, dtype: DType) -> str | None:
    """How a result differs from the reference, both in storage form; None where it does not.

    Configurations add in different orders, so floats may differ by 2 % of an element or of the root
    mean square; integers by 1 and as much, since they may come from rounding; bools not at all. Of
    large results a part is compared.
    """
    if np.array_equal(_bytes(reference), _bytes(result)):
        return None
    picked = _picked(reference.size)
    a, b = reference.reshape(-1)[picked], result.reshape(-1)[picked]
    if dtype.kind is Kind.BOOL:
        count = int((a != b).sum())
        return f"{count} of {a.size} differ" if count else None
    x = np.asarray(decode(a, dtype), np.float64)
    y = np.asarray(decode(b, dtype), np.float64)
    strange = ~np.isfinite(x)
    if not np.array_equal(strange, ~np.isfinite(y)):
        return (
            f"{int((strange != ~np.isfinite(y)).sum())} of {a.size} are finite in one result only"
        )
    x, y = x[~strange], y[~strange]
    if not x.size:
        return None
    scale = float(np.sqrt(np.mean(x * x)))
    allowed = _TOLERANCE * np.maximum(np.abs(x), scale) + (1.0 if dtype.is_integer else 1e-30)
    off = np.abs(x - y)
    count = int((off > allowed).sum())
    if not count:
        return None
    return f"{count} of {x.size} differ, by up to {float(off.max()):.3g} where {scale:.3g} is usual"


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _picked(size: int) -> Any:
    if size <= _MOST:
        return slice(None)
    spread = np.random.default_rng(0).integers(_ENDS, size - _ENDS, _MOST - 2 * _ENDS)
    return np.concatenate([np.arange(_ENDS), spread, np.arange(size - _ENDS, size)])
