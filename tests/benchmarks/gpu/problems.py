"""Random operands on the GPU, the same for every library, and float32 references."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch
from dslc.compiler.dtypes import decode, parse_dtype
from gpu.cases import GROUP, Case

TORCH = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f8e4m3": torch.float8_e4m3fn,
}


@dataclass
class Weights:
    """Codes [K, N] (bit patterns, one a byte) and scales [K / 128, N] of a product."""

    codes: torch.Tensor
    scales: torch.Tensor


def values_of(weight: str) -> np.ndarray:
    """The number of each bit pattern of a type, float64; NaN or infinity where there is none."""
    dtype = parse_dtype(weight)
    patterns = np.arange(1 << dtype.bits, dtype=np.uint8)
    if not weight.startswith("i"):
        return decode(patterns, dtype).astype(np.float64)
    half = 1 << (dtype.bits - 1)
    return (patterns.astype(np.int64) ^ half).astype(np.float64) - half


@functools.lru_cache(maxsize=1)
def weights(weight: str, k: int, n: int, dtype: str) -> Weights:
    """Uniformly random codes that are numbers, and scales."""
    generator = torch.Generator("cuda").manual_seed(k + n)
    finite = np.flatnonzero(np.isfinite(values_of(weight))).astype(np.uint8)
    codes = torch.randint(
        len(finite), (k, n), generator=generator, device="cuda", dtype=torch.uint8
    )
    if len(finite) < 1 << parse_dtype(weight).bits:
        codes = torch.from_numpy(finite).cuda()[codes.int()]
    scales = torch.rand(-(-k // GROUP), n, generator=generator, device="cuda") * 0.01 + 0.005
    return Weights(codes, scales.to(TORCH[dtype]))


def activations(case: Case) -> torch.Tensor:
    """Normal numbers [M, K]."""
    m, k = case.dims["M"], case.dims["K"]
    generator = torch.Generator("cuda").manual_seed(m)
    a = torch.randn(m, k, generator=generator, device="cuda") * 0.1
    return a.to(TORCH[case.dtype])


def product(a: torch.Tensor, made: Weights, values: np.ndarray) -> torch.Tensor:
    """a @ (values[codes] * scales) in float32, a strip of K at a time."""
    table = torch.from_numpy(np.nan_to_num(values)).float().cuda()
    k, n = made.codes.shape
    total = torch.zeros(a.shape[0], n, device="cuda")
    for start in range(0, k, 16 * GROUP):
        strip = made.codes[start : start + 16 * GROUP]
        scales = made.scales[start // GROUP : (start + len(strip)) // GROUP].float()
        decoded = table[strip.int()] * scales.repeat_interleave(GROUP, 0)
        total += a[:, start : start + len(strip)].float() @ decoded
    return total
