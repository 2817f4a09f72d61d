"""Weights to codes with group scales, and back: what the quantised products take.

codes = dslc.quantize.quantize(w, "u4", group=128)                 # each weight to the nearest
codes = dslc.quantize.quantize_calibrated(w, x.T @ x, "u4")        # so that x @ w changes least
y = x @ dslc.quantize.dequantize(codes)
"""

from dslc.quantize.calibrated import quantize_calibrated
from dslc.quantize.nearest import (
    Array,
    Quantized,
    dequantize,
    quantize,
    quantize_mx,
    quantize_nvfp4,
    transposed,
)

__all__ = [
    "Array",
    "Quantized",
    "dequantize",
    "quantize",
    "quantize_calibrated",
    "quantize_mx",
    "quantize_nvfp4",
    "transposed",
]
