"""What becomes of float weights while they are read: codes, or two factors (dslc.compress)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compress import aligned_rank, compression_ratio, factorize, whitening_of_moments
from dslc.models.linear import ToNearest
from dslc.runtime.elements import Array

BLOCK = 128
_PARTS = ("gate_up", "gate", "up", "down")


@dataclass(frozen=True, slots=True)
class ToRank:
    """Factors that save about `ratio` of a weight's parameters, their rank in blocks of 128.

    Attention loses more by it (NeuronMM, section 4.3), and stays as it is, as do weights that have no
    block or would not become smaller.
    """

    ratio: float

    def __post_init__(self) -> None:
        if not 0 < self.ratio < 1:
            raise error("DSL0797", f"no share of {self.ratio:g} of the parameters can be saved")

    def __call__(
        self, name: str, weight: Array, moments: Array | None = None
    ) -> tuple[Array, Array] | None:
        """[R, K] and [N, R] in f32 for the part `name`, None where it stays; `moments` are X^T X."""
        n, k = weight.shape
        if name.rpartition(".")[2] not in _PARTS or min(n, k) < BLOCK:
            return None
        rank = aligned_rank(k, n, self.ratio, BLOCK)
        if compression_ratio(k, n, rank) <= 0:
            return None
        scaling = None if moments is None else whitening_of_moments(moments)
        factors = factorize(weight.T.astype(np.float32), rank, scaling)
        return factors.u.T, factors.v.T


@dataclass(frozen=True)
class Changes:
    """What becomes of float weights while they are read; with `calibration`, by what goes through."""

    rounding: ToNearest | None = None
    factoring: ToRank | None = None
    calibration: Array | None = None

    @classmethod
    def of(cls, quantize: str, compress: float, calibration: Array | None) -> Changes:
        """Of a text such as `u4:128` (or none), the share of parameters to save (or 0), and tokens.

        DSL0790 and DSL0797 for others, and DSL0790 for a calibration where nothing changes.
        """
        rounding = ToNearest.parse(quantize) if quantize else None
        factoring = ToRank(compress) if compress else None
        if calibration is not None and rounding is None and factoring is None:
            text = "a calibration says how weights are rounded or factored; none are"
            raise error("DSL0790", text, hint="quantize u4:128")
        return cls(rounding, factoring, calibration)
