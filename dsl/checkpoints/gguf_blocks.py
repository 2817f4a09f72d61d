"""The blocks of GGUF: codes, scales and offsets of 32 or 256 elements of a row in so many bytes.

A block's layout is a struct of ggml (https://github.com/ggml-org/ggml, src/ggml-common.h): `Q4_0` is
an f16 scale and 16 bytes of codes, the low nibbles first. The K-quants have blocks of 256 in parts of
16 or 32, whose scales are small integers times an f16: their product is exact in f32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.dtypes import E8M0, F16, F32, DType, parse_dtype
from dslc.quantize import Quantized

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

PLAIN = {0: "<f4", 1: "<f2", 24: "i1", 25: "<i2", 26: "<i4", 27: "<i8", 28: "<f8", 30: "bf16"}

# Codes of IQ4_NL and IQ4_XS stand for these (ggml-common.h, kvalues_iq4nl).
_IQ4 = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


@dataclass(frozen=True, slots=True)
class Block:
    """A type of ggml: `read` takes the bytes [N, blocks of a row, size] of a matrix."""

    name: str
    elements: int
    size: int
    read: Callable[[Array], Quantized]


def _f16(raw: Array, at: int) -> Array:
    """The f16 at a byte of each block."""
    return np.asarray(np.ascontiguousarray(raw[..., at : at + 2]).view("<f2")[..., 0])


def _halves(codes: Array) -> Array:
    """Nibbles of 16 bytes each: all low ones of them, then all high ones."""
    return np.concatenate([codes & 15, codes >> 4], axis=-1)


def _high_bits(raw: Array) -> Array:
    """32 bits of four bytes, one for each element: 0 or 16."""
    return np.unpackbits(raw, axis=-1, bitorder="little") << 4


def _matrix(
    dtype: str,
    codes: Array,
    scales: Array,
    offsets: Array | None = None,
    scale_dtype: DType | None = None,
    table: Array | None = None,
) -> Quantized:
    """Codes [N, blocks, parts, group] and scales [N, blocks, parts] as matrices [K, N]."""
    columns, group = codes.shape[0], codes.shape[-1]
    element = parse_dtype(dtype)
    assert element is not None

    def turned(array: Array) -> Array:
        return np.ascontiguousarray(array.reshape(columns, -1).T)

    return Quantized(
        element,
        scale_dtype or (F16 if scales.dtype == np.float16 else F32),
        group,
        turned(codes),
        turned(scales),
        None,
        offsets=None if offsets is None else turned(offsets),
        table=table,
    )


def _q4_0(raw: Array) -> Quantized:
    codes = _halves(raw[..., 2:]).astype(np.int8) - np.int8(8)
    return _matrix("i4", codes[:, :, None], _f16(raw, 0))


def _q4_1(raw: Array) -> Quantized:
    return _matrix("u4", _halves(raw[..., 4:])[:, :, None], _f16(raw, 0), _f16(raw, 2))


def _q5_0(raw: Array) -> Quantized:
    codes = _halves(raw[..., 6:]) | _high_bits(raw[..., 2:6])
    return _matrix("i5", (codes.astype(np.int8) - np.int8(16))[:, :, None], _f16(raw, 0))


def _q5_1(raw: Array) -> Quantized:
    codes = _halves(raw[..., 8:]) | _high_bits(raw[..., 4:8])
    return _matrix("u5", codes[:, :, None], _f16(raw, 0), _f16(raw, 2))


def _q8_0(raw: Array) -> Quantized:
    codes = np.ascontiguousarray(raw[..., 2:]).view(np.int8)
    return _matrix("i8", codes[:, :, None], _f16(raw, 0))


def _crumbs(raw: Array) -> Array:
    """Codes of 2 bits of 64 bytes: of each 32 bytes the lowest bits, the next, ...: [..., 8, 32]."""
    halves = raw.reshape(*raw.shape[:-1], 2, 1, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    return ((halves >> shifts) & 3).reshape(*raw.shape[:-1], 8, 32)


def _q2_k(raw: Array) -> Quantized:
    scales, codes = raw[..., :16], _crumbs(raw[..., 16:80])
    d, least = (_f16(raw, at).astype(np.float32)[..., None] for at in (80, 82))
    parts = codes.reshape(*codes.shape[:2], 16, 16)
    return _matrix("u2", parts, d * (scales & 15), -(least * (scales >> 4)))


def _q3_k(raw: Array) -> Quantized:
    high, low = raw[..., :32], _crumbs(raw[..., 32:96])
    # Bit i of byte j belongs to element 32 i + j; where it is not set, 4 is taken away.
    bits = (high[..., None, :] >> np.arange(8, dtype=np.uint8)[:, None]) & 1
    codes = low.astype(np.int8) - ((1 - bits.astype(np.int8)) << 2)
    scales = _six_bits_q3(raw[..., 96:108]).astype(np.int8) - np.int8(32)
    d = _f16(raw, 108).astype(np.float32)[..., None]
    return _matrix("i3", codes.reshape(*codes.shape[:2], 16, 16), d * scales)


def _six_bits_q3(packed: Array) -> Array:
    """16 scales of 6 bits of 12 bytes: nibbles of 8 bytes, two high bits each in the other four."""
    low = np.concatenate([packed[..., :8] & 15, packed[..., :8] >> 4], axis=-1)
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    high = ((packed[..., None, 8:] >> shifts) & 3).reshape(*packed.shape[:-1], 16)
    return np.asarray(low | (high << 4))


def _six_bits(packed: Array) -> tuple[Array, Array]:
    """8 scales and 8 minima of 6 bits of 12 bytes, as Q4_K and Q5_K have them."""
    a, b, c = packed[..., :4], packed[..., 4:8], packed[..., 8:]
    scales = np.concatenate([a & 63, (c & 15) | ((a >> 6) << 4)], axis=-1)
    minima = np.concatenate([b & 63, (c >> 4) | ((b >> 6) << 4)], axis=-1)
    return scales, minima


def _k_scales(raw: Array) -> tuple[Array, Array]:
    scales, minima = _six_bits(raw[..., 4:16])
    d, least = (_f16(raw, at).astype(np.float32)[..., None] for at in (0, 2))
    return d * scales, -(least * minima)


def _nibble_runs(raw: Array) -> Array:
    """Codes of 128 bytes: of each 32 bytes the low nibbles, then the high ones: [..., 8, 32]."""
    runs = raw.reshape(*raw.shape[:-1], 4, 1, 32)
    return np.concatenate([runs & 15, runs >> 4], axis=-2).reshape(*raw.shape[:-1], 8, 32)


def _q4_k(raw: Array) -> Quantized:
    return _matrix("u4", _nibble_runs(raw[..., 16:]), *_k_scales(raw))


def _q5_k(raw: Array) -> Quantized:
    high = (raw[..., None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None]) & 1
    return _matrix("u5", _nibble_runs(raw[..., 48:]) | (high << 4), *_k_scales(raw))


def _q6_k(raw: Array) -> Quantized:
    low = raw[..., :128].reshape(*raw.shape[:-1], 2, 1, 64)
    low = np.concatenate([low & 15, low >> 4], axis=-2).reshape(*raw.shape[:-1], 8, 32)
    codes = (low | (_crumbs(raw[..., 128:192]) << 4)).astype(np.int8) - np.int8(32)
    scales = np.ascontiguousarray(raw[..., 192:208]).view(np.int8)
    d = _f16(raw, 208).astype(np.float32)[..., None]
    return _matrix("i6", codes.reshape(*codes.shape[:2], 16, 16), d * scales)


def _iq4_nl(raw: Array) -> Quantized:
    table = np.array(_IQ4, np.float32)
    return _matrix("u4", _halves(raw[..., 2:])[:, :, None], _f16(raw, 0), table=table)


def _iq4_xs(raw: Array) -> Quantized:
    high = np.ascontiguousarray(raw[..., 2:4]).view("<u2")
    low = np.stack([raw[..., 4:8] & 15, raw[..., 4:8] >> 4], axis=-1).reshape(*raw.shape[:-1], 8)
    scales = low | ((high >> (2 * np.arange(8, dtype=np.uint16))) & 3).astype(np.uint8) << 4
    d = _f16(raw, 0).astype(np.float32)[..., None]
    codes = _halves(raw[..., 8:].reshape(*raw.shape[:-1], 8, 16))
    table = np.array(_IQ4, np.float32)
    return _matrix("u4", codes, d * (scales.astype(np.int8) - np.int8(32)), table=table)


def _mxfp4(raw: Array) -> Quantized:
    return _matrix("f4e2m1", _halves(raw[..., 1:])[:, :, None], raw[..., 0], scale_dtype=E8M0)


BLOCKS = {
    2: Block("Q4_0", 32, 18, _q4_0), 3: Block("Q4_1", 32, 20, _q4_1),
    6: Block("Q5_0", 32, 22, _q5_0), 7: Block("Q5_1", 32, 24, _q5_1),
    8: Block("Q8_0", 32, 34, _q8_0), 10: Block("Q2_K", 256, 84, _q2_k),
    11: Block("Q3_K", 256, 110, _q3_k), 12: Block("Q4_K", 256, 144, _q4_k),
    13: Block("Q5_K", 256, 176, _q5_k), 14: Block("Q6_K", 256, 210, _q6_k),
    20: Block("IQ4_NL", 32, 18, _iq4_nl), 23: Block("IQ4_XS", 256, 136, _iq4_xs),
    39: Block("MXFP4", 32, 17, _mxfp4),
}  # fmt: skip
