"""math.fma: x * y + z, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np


def fused(x: Any, y: Any, z: Any) -> Any:
    """Of f32, alone or in a vector.

    The product is exact in f64. The sum there is rounded to odd by its error (Knuth's two-sum), so that
    the rounding to f32 is the only one (Boldo and Melquiond, IEEE Trans. Computers 57(4), 2008).
    """
    with np.errstate(all="ignore"):
        product, more = np.float64(x) * np.float64(y), np.float64(z)
        total = np.asarray(product + more)
        back = total - product
        error = (product - (total - back)) + (more - back)
        odd = total.view(np.int64) & 1 == 1
        exact = odd | ~np.isfinite(total) | ~(np.abs(error) > 0)
        beyond = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
        return np.where(exact, total, beyond).astype(np.float32)[()]
