"""One weight as two factors: the singular value decomposition of what it does to its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compress.rank import aligned_rank
from dslc.compress.whitening import whitening

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Factors:
    """u [k, r] and v [r, n] with u v about w [k, n].

    `error` is the relative error |X (w - u v)| / |X w| over the calibration's inputs X (Frobenius), of
    the weight itself where there was none; `weight_error` is |w - u v| / |w|.
    """

    u: Array
    v: Array
    error: float
    weight_error: float

    @property
    def rank(self) -> int:
        """The columns of u."""
        return int(self.u.shape[1])


def factorize(w: Array, rank: int, scaling: Array | None = None) -> Factors:
    """The best factors of a rank for inputs X with S S^T = X^T X; S is `scaling` [k, k].

    With y = x W the error |X (W - U V)| is |S^T (W - U V)|: S^T W = A D B^T is decomposed, and
    U = S^-T A_r sqrt(D_r), V = sqrt(D_r) B_r^T (Eqs. 3 and 6 to 8; their W is the transposed of ours,
    with S on its other side). No other factors of that rank have a smaller error (Eckart and Young).
    Computed in float64 and given in w's dtype.
    """
    exact = w.astype(np.float64)
    seen = exact if scaling is None else scaling.T @ exact
    left, singular, right = np.linalg.svd(seen, full_matrices=False)
    root = np.sqrt(singular[:rank])
    u = left[:, :rank] * root
    if scaling is not None:
        u = np.linalg.solve(scaling.T, u)
    u, v = u.astype(w.dtype), (root[:, None] * right[:rank]).astype(w.dtype)
    missing = exact - u.astype(np.float64) @ v.astype(np.float64)
    weighted = missing if scaling is None else scaling.T @ missing
    return Factors(u, v, _relative(weighted, seen), _relative(missing, exact))


def _relative(part: Array, whole: Array) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(part)) / size if size else 0.0


def compress_weight(
    w: Array,
    ratio: float,
    block: int = 128,
    inputs: Array | None = None,
    alpha: float = 0.5,
) -> Factors:
    """The factors of a weight [k, n] of y = x w that save about `ratio` of its parameters.

    `inputs` [..., k] are activations of a calibration. DSL0797 where no rank fits, DSL0798 for inputs
    that are not the weight's.
    """
    if w.ndim != 2:
        raise error("DSL0797", f"a weight is a matrix, not of shape {w.shape}")
    if inputs is not None and inputs.shape[-1] != w.shape[0]:
        raise error(
            "DSL0798", f"inputs of width {inputs.shape[-1]} for a weight of {w.shape[0]} rows"
        )
    rank = aligned_rank(w.shape[0], w.shape[1], ratio, block, alpha)
    return factorize(w, rank, None if inputs is None else whitening(inputs))
