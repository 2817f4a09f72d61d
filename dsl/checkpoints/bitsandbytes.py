"""bitsandbytes: 4-bit codes of a table (NF4, FP4) with a maximum for each block, and LLM.int8.

Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs", NeurIPS 2023, section 3 (NF4, double
quantisation); "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale", NeurIPS 2022. The
elements of [N, K] lie in a row, the first of a byte in its high nibble. JSON bytes beside the weight
say its shape, the size of its blocks and how their maxima are quantised.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from dslc.checkpoints.pieces import Pieces
from dslc.checkpoints.words import nibbles
from dslc.compiler.dtypes import F32, parse_dtype
from dslc.quantize import Quantized
from dslc.runtime.elements import Array

STATES = ("weight.quant_state.bitsandbytes__nf4", "weight.quant_state.bitsandbytes__fp4")


def read_four_bits(pieces: Pieces) -> Quantized:
    """Codes u4 [K, N] with the table that they index, and f32 scales of blocks of K."""
    state = _state(pieces, next(s for s in STATES if pieces.has(s)))
    columns, rows = _shape(pieces, state)
    size = state.get("blocksize")
    if not isinstance(size, int) or size < 1 or rows % size:
        raise pieces.not_read(f"blocks of {size!r} elements do not divide rows of {rows}")
    packed = pieces.take("weight", "u").reshape(-1)
    if 2 * packed.size != rows * columns:
        raise pieces.wrong(f"{packed.size} bytes for {columns} x {rows} codes of 4 bits")
    table = pieces.take("weight.quant_map", "f", 1)
    if table.size != 16:
        raise pieces.wrong(f"a table of {table.size} entries for codes of 4 bits")
    codes = nibbles(packed, high_first=True).reshape(columns, rows)
    scales = _maxima(pieces, state, rows * columns // size).reshape(columns, rows // size)
    dtype = parse_dtype("u4")
    assert dtype is not None
    return Quantized(
        dtype,
        F32,
        size,
        np.ascontiguousarray(codes.T),
        np.ascontiguousarray(scales.T),
        None,
        table=table.astype(np.float32),
    )


def read_int8(pieces: Pieces) -> Quantized:
    """LLM.int8: the code of a row's greatest number is 127, and SCB holds that number."""
    weight = pieces.take("weight", "i", 2)
    maxima = pieces.take("SCB", "f").reshape(-1)
    if weight.dtype != np.int8 or maxima.size != weight.shape[0]:
        raise pieces.wrong(f"{maxima.size} scales for a weight {weight.shape} of {weight.dtype}")
    dtype = parse_dtype("i8")
    assert dtype is not None
    scales = maxima.astype(np.float32)[None, :] * np.float32(1 / 127)
    return Quantized(dtype, F32, weight.shape[1], np.ascontiguousarray(weight.T), scales, None)


def _maxima(pieces: Pieces, state: dict[str, Any], count: int) -> Array:
    """The greatest magnitude of each block, f32; doubly quantised ones are codes themselves."""
    stored = pieces.take("weight.absmax", "fu").reshape(-1)
    if stored.size != count:
        raise pieces.wrong(f"{stored.size} maxima for {count} blocks")
    if stored.dtype != np.uint8:
        return stored.astype(np.float32)
    table = pieces.take("weight.nested_quant_map", "f", 1).astype(np.float32)
    outer = pieces.take("weight.nested_absmax", "f", 1).astype(np.float32)
    size, offset = state.get("nested_blocksize"), state.get("nested_offset")
    if not isinstance(size, int) or size < 1 or not isinstance(offset, float | int):
        raise pieces.wrong("the quantisation of its maxima is not described")
    if table.size != 256 or outer.size != -(-count // size):
        raise pieces.wrong(f"{outer.size} maxima of maxima for {count} blocks")
    return table[stored] * np.repeat(outer, size)[:count] + np.float32(offset)


def _state(pieces: Pieces, suffix: str) -> dict[str, Any]:
    raw = pieces.take(suffix, "u", 1)
    try:
        state = json.loads(raw.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        raise pieces.wrong(f"{suffix} is no JSON: {str(problem)[:80]}") from None
    if not isinstance(state, dict):
        raise pieces.wrong(f"{suffix} is not a JSON object")
    return state


def _shape(pieces: Pieces, state: dict[str, Any]) -> tuple[int, int]:
    shape = state.get("shape")
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(n) is int for n in shape):
        raise pieces.not_read(f"a weight of shape {shape!r}")
    return shape[0], shape[1]
