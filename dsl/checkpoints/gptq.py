"""GPTQ and AWQ: codes in words of 32 bits, f16 scales and packed zero points of groups of rows.

GPTQ (Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
Transformers", ICLR 2023) packs codes along K and zero points along N, lowest bits first. Its zero
points are stored less one, except in the format `gptq_v2`. `g_idx` is the group of each input
(act-order).
AWQ (Lin et al., "AWQ: Activation-aware Weight Quantization", MLSys 2024) packs both along N, the eight
columns of a word in the order 0 2 4 6 1 3 5 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from dslc.checkpoints.pieces import Pieces, float_scales, in_groups
from dslc.checkpoints.words import unpack_words, words_for
from dslc.compiler.dtypes import DType, parse_dtype
from dslc.quantize import Quantized
from dslc.runtime.elements import Array

_AWQ_PLACES = (0, 4, 1, 5, 2, 6, 3, 7)  # where a word has its columns 0, 1, ..., 7


def read_gptq(pieces: Pieces, config: Mapping[str, Any]) -> Quantized:
    """Codes, scales, zero points and the order of rows of a module that GPTQ has quantised."""
    bits, dtype = _bits(pieces, config)
    words = pieces.take("qweight", "iu", 2)
    scales = pieces.take("scales", "fV", 2)
    groups, columns = scales.shape
    rows = _rows(pieces, words.shape[0], bits, config, groups)
    group = _group(pieces, rows, groups)
    codes = unpack_words(words, bits, 0, rows)
    packed = pieces.take("qzeros", "iu", 2)
    if packed.shape != (groups, words_for(columns, bits)):
        raise pieces.wrong(f"qzeros has shape {packed.shape} for scales {scales.shape}")
    zeros = unpack_words(packed, bits, 1, columns)
    if config.get("checkpoint_format", "gptq") != "gptq_v2":
        zeros = zeros + np.uint8(1)
    order = None
    if pieces.has("g_idx"):
        order = in_groups(pieces, pieces.take("g_idx", "iu", 1), rows, group)
    if order is not None:
        codes = codes[order]
    return _quantized(pieces, dtype, group, codes, scales, zeros, order)


def read_awq(pieces: Pieces, config: Mapping[str, Any]) -> Quantized:
    """Codes, scales and zero points of a module that AWQ has quantised (its GEMM version)."""
    bits, dtype = _bits(pieces, config)
    if bits != 4 or config.get("version", "gemm") not in ("gemm", "GEMM"):
        raise pieces.not_read(f"AWQ of {bits} bits, version {config.get('version')}")
    words = pieces.take("qweight", "iu", 2)
    scales = pieces.take("scales", "fV", 2)
    groups, columns = scales.shape
    group = _group(pieces, words.shape[0], groups)
    packed = pieces.take("qzeros", "iu", 2)
    if packed.shape != (groups, words.shape[1]):
        raise pieces.wrong(f"qzeros has shape {packed.shape} for scales {scales.shape}")
    codes, zeros = (_awq_columns(w, columns) for w in (words, packed))
    return _quantized(pieces, dtype, group, codes, scales, zeros, None)


def _awq_columns(words: Array, columns: int) -> Array:
    stored = unpack_words(words, 4, 1, 8 * words.shape[1]).reshape(*words.shape, 8)
    return stored[..., list(_AWQ_PLACES)].reshape(words.shape[0], -1)[:, :columns]


def _bits(pieces: Pieces, config: Mapping[str, Any]) -> tuple[int, DType]:
    bits: int | None = config.get("bits", config.get("w_bit"))
    if bits is None or bits not in (2, 3, 4, 8):
        raise pieces.not_read(f"codes of {bits!r} bits")
    dtype = parse_dtype(f"u{bits}")
    assert dtype is not None
    return bits, dtype


def _rows(pieces: Pieces, words: int, bits: int, config: Mapping[str, Any], groups: int) -> int:
    """The rows of K, of which the last word may hold fewer than it could."""
    if pieces.has("g_idx"):
        rows = int(pieces.take("g_idx", "iu", 1).shape[0])
    else:
        size = config.get("group_size", -1)
        rows = groups * size if isinstance(size, int) and size > 0 else words * 32 // bits
    if words_for(rows, bits) != words:
        raise pieces.wrong(f"qweight has {words} rows of words for {rows} rows of {bits} bits")
    return rows


def _group(pieces: Pieces, rows: int, groups: int) -> int:
    if groups == 0 or rows % groups:
        raise pieces.not_read(f"{groups} groups do not divide {rows} rows")
    return rows // groups


def _quantized(
    pieces: Pieces,
    dtype: DType,
    group: int,
    codes: Array,
    scales: Array,
    zeros: Array,
    order: Array | None,
) -> Quantized:
    if codes.shape[1] != scales.shape[1]:
        raise pieces.wrong(f"{codes.shape[1]} columns of codes, {scales.shape[1]} of scales")
    scale_dtype, scales = float_scales(scales)
    codes = np.ascontiguousarray(codes)
    return Quantized(dtype, scale_dtype, group, codes, scales, zeros, row_order=order)
