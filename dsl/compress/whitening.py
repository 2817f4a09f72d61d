"""What a calibration says of a weight's inputs (NeuronMM, Eq. 2)."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_FIRST_RIDGE = 1e-10  # of the mean of the diagonal, where inputs do not span their space


def whitening(inputs: Array) -> Array:
    """S, lower triangular with a positive diagonal, float64 [k, k], with S S^T = X^T X.

    `inputs` X are [..., k] activations. Fewer than k of them, or inputs that depend on each other,
    leave X^T X singular: then as little as Cholesky needs is added to its diagonal. DSL0798 where they
    are no finite numbers or all of them 0.
    """
    x = np.asarray(inputs)
    if x.ndim < 2 or x.size == 0 or x.dtype.kind not in "fiuV":
        raise error("DSL0798", f"inputs of shape {x.shape} are no rows of activations")
    rows = x.reshape(-1, x.shape[-1]).astype(np.float64)
    return whitening_of_moments(rows.T @ rows)


def whitening_of_moments(moments: Array) -> Array:
    """S as of `whitening`, of X^T X itself."""
    gram = moments.astype(np.float64)
    scale = float(np.trace(gram)) / len(gram)
    if not np.isfinite(scale) or scale <= 0:
        raise error("DSL0798", "the inputs are not finite, or all of them are 0")
    ridge = 0.0
    while True:
        try:
            factor: Array = np.linalg.cholesky(gram + ridge * scale * np.eye(len(gram)))
        except np.linalg.LinAlgError:
            ridge = ridge * 10 or _FIRST_RIDGE
            continue
        return factor
