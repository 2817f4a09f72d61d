"""MLX: codes in words of 32 bits along K, with a scale and an offset for each group of a row.

`w = scale * code + bias` (https://ml-explore.github.io/mlx, `mlx.core.quantize`); in the mode `mxfp4`
codes are f4e2m1 and scales powers of two, in the mode `nvfp4` f8e4m3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from dslc.checkpoints.pieces import Pieces, float_scales
from dslc.checkpoints.words import unpack_words, words_for
from dslc.compiler.dtypes import E8M0, parse_dtype
from dslc.quantize import Quantized

_FLOATS = {"mxfp4": ("f4e2m1", "e8m0"), "mxfp8": ("f8e4m3", "e8m0"), "nvfp4": ("f4e2m1", "f8e4m3")}


def read_mlx(pieces: Pieces, config: Mapping[str, Any]) -> Quantized:
    """A module of MLX; `config` is the model's `quantization`, in which a module may have its own."""
    own = config.get(pieces.module)
    chosen = own if isinstance(own, dict) else config
    bits, group = chosen.get("bits"), chosen.get("group_size")
    mode = chosen.get("mode", config.get("mode", "affine"))
    if bits not in (2, 3, 4, 5, 6, 8) or not isinstance(group, int) or group < 1:
        raise pieces.not_read(f"codes of {bits!r} bits in groups of {group!r}")
    words = pieces.take("weight", "u", 2)
    scales = pieces.take("scales", "fuV", 2)
    columns, groups = scales.shape
    rows = groups * group
    if words.shape != (columns, words_for(rows, bits)):
        raise pieces.wrong(f"weight has shape {words.shape} for scales {scales.shape}")
    codes = np.ascontiguousarray(unpack_words(words, bits, 1, rows).T)
    if mode == "affine":
        dtype = parse_dtype(f"u{bits}")
        scale_dtype, stored = float_scales(scales.T)
        biases = pieces.take("biases", "fV", 2)
        if biases.shape != scales.shape:
            raise pieces.wrong(f"biases {biases.shape} for scales {scales.shape}")
        assert dtype is not None
        offsets = np.ascontiguousarray(biases.T)
        return Quantized(dtype, scale_dtype, group, codes, stored, None, offsets=offsets)
    if mode not in _FLOATS or scales.dtype != np.uint8:
        raise pieces.not_read(f"the mode {mode!r}")
    dtype, known = (parse_dtype(name) for name in _FLOATS[mode])
    assert dtype is not None
    return Quantized(dtype, known or E8M0, group, codes, np.ascontiguousarray(scales.T), None)
