"""Transcendental functions of f32 and f64 as polynomials, and their table by operation.

The errors in ulp that each function keeps are in docs/compiler/vector.md, and tests hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.mathematics.circular import cosine, sine
from dslc.compiler.vector.legal.mathematics.exponentials import exp, exp2, sigmoid
from dslc.compiler.vector.legal.mathematics.logarithms import log, log2, rsqrt
from dslc.compiler.vector.legal.mathematics.powers import power
from dslc.compiler.vector.legal.mathematics.sigmoidal import erf, tanh
from dslc.compiler.vector.values import Operand

FUNCTIONS: Mapping[str, Callable[[LegalBuilder, Operand], Operand]] = {
    "exp": exp,
    "exp2": exp2,
    "log": log,
    "log2": log2,
    "rsqrt": rsqrt,
    "sin": sine,
    "cos": cosine,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "erf": erf,
}

__all__ = ["FUNCTIONS", "power"]
