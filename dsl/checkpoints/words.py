"""Codes of a few bits out of the words that formats pack them into."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def unpack_words(words: Array, bits: int, axis: int, count: int, *, dense: bool = True) -> Array:
    """The first `count` codes along an axis of 32-bit words, the lowest bits first: uint8.

    Where `bits` does not divide 32, codes go on in the next word if `dense` (GPTQ and MLX with 3 and 6
    bits), else each word holds 32 // bits of them (compressed-tensors).
    """
    words = np.moveaxis(words.astype(np.uint32, copy=False), axis, -1)
    mask = np.uint32((1 << bits) - 1)
    if 32 % bits == 0 or not dense:
        shifts = np.arange(32 // bits, dtype=np.uint32) * np.uint32(bits)
        codes = ((words[..., None] >> shifts) & mask).astype(np.uint8)
    else:
        # 32 codes lie in `bits` words; one that crosses into the next has its high bits there.
        runs = words.reshape(*words.shape[:-1], -1, bits)
        codes = np.empty((*runs.shape[:-1], 32), np.uint8)
        for i in range(32):
            word, shift = divmod(i * bits, 32)
            code = runs[..., word] >> np.uint32(shift)
            if shift + bits > 32:
                code = code | (runs[..., word + 1] << np.uint32(32 - shift))
            codes[..., i] = code & mask
    flat = codes.reshape(*words.shape[:-1], -1)[..., :count]
    return np.moveaxis(flat, -1, axis)


def words_for(count: int, bits: int, *, dense: bool = True) -> int:
    """How many 32-bit words hold `count` codes."""
    if 32 % bits == 0 or not dense:
        return -(-count // (32 // bits))
    return -(-count // 32) * bits


def nibbles(packed: Array, *, high_first: bool = False) -> Array:
    """Two codes of 4 bits a byte along the last axis: uint8 of twice as many."""
    low, high = packed & 15, packed >> 4
    pair = (high, low) if high_first else (low, high)
    return np.stack(pair, axis=-1).reshape(*packed.shape[:-1], -1)


def signed(codes: Array, bits: int) -> Array:
    """Codes that are stored with 2**(bits - 1) added, as the integers that they are: int8."""
    return (codes.astype(np.int16) - (1 << (bits - 1))).astype(np.int8)
