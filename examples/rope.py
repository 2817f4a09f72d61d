"""Rotary position embedding (Su et al., 2021), in place, in its two conventions.

A row of x holds heads of D elements side by side. A row of cos_sin holds the cosines of the D / 2
angles at that position, then their sines.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
BS, S, Q, D = dims("BS S Q D")


@dslc.kernel(BS=[16, 64, 4])
def rope(x: inout[T, S, Q], cos_sin: tensor[f32, S, D]) -> None:
    """Rotates the pairs (i, i + D / 2) of each head: the half-split convention of Llama."""
    require(D % 2 == 0)
    require(Q % D == 0)

    for s, h in parallel(range(0, S, BS), range(0, Q, D)):
        half = D // 2
        c = cos_sin[s : s + BS, 0:half]
        d = cos_sin[s : s + BS, half:D]
        a = cast(x[s : s + BS, h : h + half], f32)
        b = cast(x[s : s + BS, h + half : h + D], f32)
        x[s : s + BS, h : h + half] = cast(a * c - b * d, T)
        x[s : s + BS, h + half : h + D] = cast(b * c + a * d, T)


@dslc.kernel(BS=[16, 64, 4])
def rope_interleaved(x: inout[T, S, Q], cos_sin: tensor[f32, S, D]) -> None:
    """Rotates the pairs (2 i, 2 i + 1) of each head: the convention of the paper and of GPT-J."""
    require(D % 2 == 0)
    require(Q % D == 0)

    for s, h in parallel(range(0, S, BS), range(0, Q, D)):
        half = D // 2
        c = cos_sin[s : s + BS, 0:half]
        d = cos_sin[s : s + BS, half:D]
        a = cast(x[s : s + BS, h : h + D : 2], f32)
        b = cast(x[s : s + BS, h + 1 : h + D : 2], f32)
        x[s : s + BS, h : h + D : 2] = cast(a * c - b * d, T)
        x[s : s + BS, h + 1 : h + D : 2] = cast(b * c + a * d, T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    positions, heads, width = 100, 8, 64
    angles = np.outer(np.arange(positions), 10_000.0 ** (-np.arange(width // 2) / (width // 2)))
    cos_sin = np.concatenate([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    x = rng.standard_normal((positions, heads * width)).astype(np.float16)
    for kernel, convention in ((rope, "half-split"), (rope_interleaved, "interleaved")):
        y = x.copy()
        start = time.perf_counter()
        kernel(y, cos_sin)
        seconds = time.perf_counter() - start
        # A rotation is the product with a complex number of modulus 1.
        shape = (positions, heads, 2, width // 2)
        pairs = (
            x.reshape(shape)
            if kernel is rope
            else x.reshape(positions, heads, -1, 2).swapaxes(2, 3)
        )
        turned = (pairs[:, :, 0] + 1j * pairs[:, :, 1]) * np.exp(1j * angles)[:, None, :]
        expected = np.stack([turned.real, turned.imag], 2 if kernel is rope else 3)
        error = np.abs(y - expected.reshape(x.shape)).max()
        print(f"{convention} rope of {x.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
