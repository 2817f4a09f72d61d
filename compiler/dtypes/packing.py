"""Compact bits: element i at bits [i * b, i * b + b), little-endian, crossing bytes.

Eight codes of b bits fill b bytes, so a group of eight is one 64-bit word at every width: its lanes
are joined (or spread) in three steps of doubling width.
"""

from __future__ import annotations

import numpy as np
from dslc.compiler.dtypes.storage import Array

_CHUNK = 1 << 13  # groups at a time, so that the steps stay in the cache
_WORD = np.dtype("<u8")


def packed_bytes(count: int, bits: int) -> int:
    """The bytes that `count` codes of `bits` bits take."""
    return (count * bits + 7) // 8


def pack_bits(codes: Array, bits: int) -> Array:
    """The codes (any shape, one a byte, row-major; only their low `bits` count) as a flat uint8 array.

    The result has packed_bytes(codes.size, bits) bytes; bits past the last code are 0.
    """
    _check_width(bits)
    flat = np.ascontiguousarray(codes).reshape(-1)
    if flat.dtype.itemsize != 1:
        raise ValueError(f"codes must be one a byte, not {flat.dtype}")
    flat = flat.view(np.uint8)
    groups = -(-flat.size // 8)
    packed = np.empty((groups, bits), np.uint8)
    whole = flat.size // 8
    for start in range(0, whole, _CHUNK):
        stop = min(start + _CHUNK, whole)
        words = flat[8 * start : 8 * stop].view(_WORD)
        packed[start:stop] = _join(words, bits).view(np.uint8).reshape(-1, 8)[:, :bits]
    if whole < groups:
        rest = np.zeros(8, np.uint8)
        rest[: flat.size - 8 * whole] = flat[8 * whole :]
        packed[whole] = _join(rest.view(_WORD), bits).view(np.uint8)[:bits]
    return packed.reshape(-1)[: packed_bytes(flat.size, bits)]


def unpack_bits(data: Array, bits: int, count: int, signed: bool = False) -> Array:
    """The first `count` codes of packed bytes: uint8, or int8 with the sign extended if `signed`.

    `data` is uint8 with at least packed_bytes(count, bits) bytes.
    """
    _check_width(bits)
    flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    size = packed_bytes(count, bits)
    if count < 0 or flat.size < size:
        raise ValueError(f"{count} codes of {bits} bits need {size} bytes, not {flat.size}")
    groups = -(-count // 8)
    codes = np.empty(8 * groups, np.uint8)
    whole = size // bits
    for start in range(0, whole, _CHUNK):
        stop = min(start + _CHUNK, whole)
        words = np.zeros((stop - start, 8), np.uint8)
        words[:, :bits] = flat[bits * start : bits * stop].reshape(-1, bits)
        codes[8 * start : 8 * stop] = _spread(words.view(_WORD), bits, signed)
    if whole < groups:
        rest = np.zeros(8, np.uint8)
        rest[: size - bits * whole] = flat[bits * whole : size]
        codes[8 * whole :] = _spread(rest.view(_WORD), bits, signed)
    return codes[:count].view(np.int8 if signed else np.uint8)


def _check_width(bits: int) -> None:
    if not 1 <= bits <= 8:
        raise ValueError(f"packing is for 1 to 8 bits, not {bits}")


def _lanes(width: int, used: int) -> tuple[np.uint64, np.uint64]:
    """Masks of the low `used` bits of the even and of the odd lanes of `width` bits."""
    even = sum(((1 << used) - 1) << at for at in range(0, 64, 2 * width))
    return np.uint64(even), np.uint64(even << width)


def _join(words: Array, bits: int) -> Array:
    """Eight codes a word, one a byte, to their 8 * bits bits at the bottom."""
    for step in range(3):
        width, used = 8 << step, bits << step
        even, odd = _lanes(width, used)
        high = (words & odd) >> np.uint64(width - used)
        words = (words & even) | high
    return words


def _spread(words: Array, bits: int, signed: bool) -> Array:
    """The inverse of `_join`, as bytes; the bits above the codes are ignored."""
    words = words.reshape(-1)
    for step in (2, 1, 0):
        width, used = 8 << step, bits << step
        even, odd = _lanes(width, used)
        high = (words << np.uint64(width - used)) & odd
        words = (words & even) | high
    codes = words.view(np.uint8)
    if signed and bits < 8:
        sign = np.uint8(1 << (bits - 1))
        codes = (codes ^ sign) - sign
    return codes
