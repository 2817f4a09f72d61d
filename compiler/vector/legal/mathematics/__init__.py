"""Transcendental functions as polynomials."""

from dslc.compiler.vector.legal.mathematics.table import FUNCTIONS, power

__all__ = ["FUNCTIONS", "power"]
