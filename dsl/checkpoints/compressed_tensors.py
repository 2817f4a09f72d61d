"""compressed-tensors: what LLM Compressor writes, and FP8 as transformers and torch do.

Weights lie as [N, K]. `weight_packed` holds integers with 2**(bits - 1) added, 32 // bits in a word
(pack-quantized), or floats of 4 bits, the low nibble first (nvfp4 and mxfp4); otherwise `weight` is of
8 bits itself. Scales are for groups of K, rows, blocks or the tensor. The library's own
`decompress_module` is what tests compare with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from dslc.checkpoints.pieces import Pieces, float_scales, in_groups
from dslc.checkpoints.words import nibbles, signed, unpack_words, words_for
from dslc.compiler.dtypes import DType, from_ml_dtypes, parse_dtype
from dslc.quantize import Quantized
from dslc.runtime.elements import Array


def read_packed(pieces: Pieces, config: Mapping[str, Any]) -> Quantized:
    """A module with `weight_packed`: integers of 1 to 8 bits, or floats of 4."""
    packed = pieces.take("weight_packed", "iu", 2)
    if packed.dtype == np.uint8:
        return _small_floats(pieces, packed)
    shape = pieces.take("weight_shape", "iu").reshape(-1)
    if shape.size != 2:
        raise pieces.wrong(f"weight_shape has {shape.size} numbers")
    columns, rows = (int(n) for n in shape)
    bits = _bits(pieces, config)
    if packed.shape != (columns, words_for(rows, bits, dense=False)):
        raise pieces.wrong(f"weight_packed has shape {packed.shape} for {columns} x {rows}")
    codes = signed(unpack_words(packed, bits, 1, rows, dense=False), bits)
    scales = pieces.take("weight_scale", "fV", 2)
    group = _group(pieces, rows, scales.shape)
    zeros = _zero_points(pieces, bits, columns, scales.shape[1])
    order = None
    if pieces.has("weight_g_idx"):
        index = pieces.take("weight_g_idx", "iu", 1)
        if (index >= 0).all():  # -1 says that there is no order
            order = in_groups(pieces, index, rows, group)
    if order is not None:
        codes = codes[:, order]
    return _matrix(_integer(bits), group, codes, scales, zeros=zeros, order=order)


def read_eight_bits(pieces: Pieces, config: Mapping[str, Any]) -> Quantized:
    """A module whose `weight` is of 8 bits, with scales of the tensor, of rows, groups or blocks.

    DeepSeek's `weight_scale_inv` is a scale like the others, of blocks of 128 x 128.
    """
    weight = pieces.take("weight", "iV", 2)
    dtype = parse_dtype("i8") if weight.dtype == np.int8 else from_ml_dtypes(weight.dtype)
    if dtype is None or dtype.bits != 8:
        raise pieces.not_read(f"a weight of {weight.dtype} with scales")
    columns, rows = weight.shape
    name = "weight_scale_inv" if pieces.has("weight_scale_inv") else "weight_scale"
    scales = pieces.take(name, "fV")
    if scales.size == 1:
        scales = np.broadcast_to(scales.reshape(1, 1), (columns, 1))
    elif scales.ndim == 1:
        scales = scales[:, None]
    if scales.shape[0] != columns:
        scales = _of_blocks(pieces, scales, columns)
    zeros = None
    if pieces.has("weight_zero_point"):
        points = pieces.take("weight_zero_point", "i")
        if points.any():
            zeros = np.broadcast_to(points.reshape(points.shape[0], -1), scales.shape).T.copy()
    codes = weight if dtype.is_integer else weight.view(np.uint8)
    return _matrix(dtype, _group(pieces, rows, scales.shape), codes, scales, zeros=zeros)


def _small_floats(pieces: Pieces, packed: Array) -> Quantized:
    """Floats of 4 bits: NVFP4 with scales of f8e4m3 and one of the tensor, MXFP4 with powers of two."""
    dtype = parse_dtype("f4e2m1")
    assert dtype is not None
    scales = pieces.take("weight_scale", "uV", 2)
    factor = 1.0
    if pieces.has("weight_global_scale"):
        whole = pieces.take("weight_global_scale", "f")
        if whole.size != 1 or not whole.reshape(-1)[0] > 0:
            raise pieces.wrong("weight_global_scale is not a positive number")
        factor = float(np.float32(1) / np.float32(whole.reshape(-1)[0]))
    codes = nibbles(packed)
    group = _group(pieces, codes.shape[1], scales.shape)
    return _matrix(dtype, group, codes, scales, tensor_scale=factor)


def _zero_points(pieces: Pieces, bits: int, columns: int, groups: int) -> Array | None:
    """Zero points [groups, N] in units of the signed codes: packed along N, or int8."""
    if not pieces.has("weight_zero_point"):
        return None
    stored = pieces.take("weight_zero_point", "iu", 2)
    if stored.dtype == np.int8:
        points = stored
    else:
        if stored.shape[0] != words_for(columns, bits, dense=False):
            raise pieces.wrong(f"weight_zero_point has shape {stored.shape} for {columns} columns")
        points = signed(unpack_words(stored, bits, 0, columns, dense=False), bits)
    if points.shape != (columns, groups):
        raise pieces.wrong(f"zero points {points.shape} for {columns} columns of {groups} groups")
    return np.ascontiguousarray(points.T)


def _bits(pieces: Pieces, config: Mapping[str, Any]) -> int:
    """The width of the module's codes, of the group of the configuration that names it."""
    widths: set[int] = set()
    for group in config.get("config_groups", {}).values():
        widths.add(group.get("weights", {}).get("num_bits"))
    if len(widths) > 1:
        # Several widths: the number of words tells which it is.
        rows = int(pieces.take("weight_shape", "iu").reshape(-1)[1])
        words = pieces.take("weight_packed", "iu", 2).shape[1]
        widths = {b for b in widths if words_for(rows, b, dense=False) == words}
    if len(widths) != 1 or not isinstance(bits := widths.pop(), int) or not 1 <= bits <= 8:
        raise pieces.not_read("config_groups do not say how many bits a code has")
    return bits


def _integer(bits: int) -> DType:
    dtype = parse_dtype(f"i{bits}")
    assert dtype is not None
    return dtype


def _group(pieces: Pieces, rows: int, shape: tuple[int, ...]) -> int:
    if shape[1] == 0 or rows % shape[1]:
        raise pieces.not_read(f"{shape[1]} scales a row do not divide {rows} inputs")
    return rows // shape[1]


def _of_blocks(pieces: Pieces, scales: Array, columns: int) -> Array:
    """Scales of blocks of several columns, once a column."""
    size = -(-columns // scales.shape[0])
    if -(-columns // size) != scales.shape[0]:
        raise pieces.wrong(f"scales of shape {scales.shape} for {columns} columns")
    return np.repeat(scales, size, axis=0)[:columns]


def _matrix(
    dtype: DType,
    group: int,
    codes: Array,
    scales: Array,
    *,
    zeros: Array | None = None,
    order: Array | None = None,
    tensor_scale: float = 1.0,
) -> Quantized:
    """Codes [N, K] and scales [N, K // group] as [K, N] and [K // group, N]."""
    scale_dtype, stored = float_scales(scales.T)
    return Quantized(
        dtype,
        scale_dtype,
        group,
        np.ascontiguousarray(codes.T),
        stored,
        zeros,
        tensor_scale,
        row_order=order,
    )
