"""Which calls of each example are tested: files, definitions, tuning choices and dims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import references
from inputs import Problem

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(path.stem for path in EXAMPLES.glob("*.tile"))

HALVES = ({"T": "f16"}, {"T": "bf16"})
FLOATS = (*HALVES, {"T": "f32"})
MX_ELEMENTS = ("f4e2m1", "f6e2m3", "f6e3m2", "f8e4m3", "f8e5m2", "i8")
WEIGHTS = [
    *(f"u{bits}" for bits in range(1, 9)),
    *(f"i{bits}" for bits in range(2, 9)),
    *(
        f"f{bits}e{exponent}m{bits - 1 - exponent}"
        for bits in range(3, 9)
        for exponent in range(1, bits)
    ),
]


def sizes(names: str, *rows: tuple[int, ...]) -> list[dict[str, int]]:
    """Dims of several calls: `sizes("M N", (1, 2), (3, 4))`."""
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


# For each kernel: its file, definitions, tuning choices, dims of several calls. The first dims are
# divisible by the tiles, the others ragged, tiny, of one row, of none.
Calls = tuple[str, tuple[dict[str, str], ...], dict[str, int], list[dict[str, int]]]
PLAIN: tuple[dict[str, str], ...] = ({},)
SMALL_TILES = {"BM": 16, "BN": 64, "BK": 32}
LOW_RANKS = sizes("M K R N", (32, 64, 16, 128), (21, 75, 10, 130), (1, 1, 1, 1))
TABLE: dict[str, Calls] = {
    "vector_add": ("vector_add", PLAIN, {"BN": 256}, sizes("N", (512,), (1000,), (1,), (0,))),
    "softmax": (
        "softmax", FLOATS, {"BN": 256},
        sizes("M N", (8, 512), (5, 700), (3, 1), (1, 1000), (0, 10)),
    ),
    "softmax_rows": (
        "softmax", FLOATS, {}, sizes("M N", (8, 512), (5, 700), (3, 1), (1, 1000), (0, 10)),
    ),
    "rmsnorm": ("rmsnorm", FLOATS, {}, sizes("M H", (8, 64), (5, 100), (1, 1), (0, 32))),
    "layernorm": ("layernorm", FLOATS, {}, sizes("M H", (8, 64), (5, 100), (1, 2), (0, 32))),
    "rope": ("rope", FLOATS, {}, sizes("S Q D", (32, 128, 64), (21, 96, 32), (1, 6, 2), (0, 8, 4))),
    "rope_interleaved": (
        "rope", FLOATS, {}, sizes("S Q D", (32, 128, 64), (21, 96, 32), (1, 6, 2), (0, 8, 4)),
    ),
    "swiglu": (
        "swiglu", FLOATS, {"BF": 128}, sizes("M F", (8, 256), (5, 300), (1, 1), (0, 16)),
    ),
    "gemm": (
        "gemm", FLOATS, SMALL_TILES,
        sizes("M N K", (32, 128, 64), (21, 130, 75), (1, 1, 1), (1, 100, 40), (0, 8, 8), (3, 4, 0)),
    ),
    "gemm_i8": (
        "gemm", PLAIN, {"BM": 16, "BN": 64, "BK": 64},
        sizes("M N K", (32, 128, 128), (21, 130, 75), (1, 1, 1), (0, 8, 8)),
    ),
    "gemm_residual": (
        "mlp", FLOATS, SMALL_TILES, sizes("M N K", (32, 128, 64), (21, 130, 75), (1, 1, 1)),
    ),
    "gemm_quantized": (
        "gemm_quantized", ({"T": "f16"}, {"G": "64"}, {"G": "32", "T": "bf16"}),
        {"BN": 64, "BK": 32},
        sizes("M N K", (16, 64, 256), (21, 100, 128), (1, 1, 128)),
    ),
    "gemm_quantized_sums": (
        "gemm_quantized",
        ({"T": "f16"}, {"W": "u2"}, {"W": "f8e4m3"}, {"G": "32", "T": "bf16", "W": "i5"}),
        {"BN": 64, "BK": 256}, sizes("M N K", (16, 64, 512), (21, 100, 384), (1, 1, 128)),
    ),
    "gemm_quantized_zeros": (
        "gemm_quantized", ({"G": "32"}, {"G": "16"}, {"G": "32", "T": "bf16", "W": "u3"}), {"BN": 64},
        sizes("M N K", (16, 64, 128), (21, 100, 160), (1, 1, 32)),
    ),
    "gemm_mx": (
        "gemm_mx", ({"T": "bf16"}, {"T": "f16"}, {"W": "i8"}, {"W": "f6e3m2"}), {"BN": 64},
        sizes("M N K", (16, 64, 256), (21, 100, 160), (1, 1, 32)),
    ),
    "gemm_nvfp4": (
        "gemm_nvfp4", HALVES, {"BN": 64}, sizes("M N K", (16, 64, 256), (21, 100, 80), (1, 1, 16)),
    ),
    "slice_rows": (
        "gemv_quantized", (*PLAIN, {"G": "32"}), {}, sizes("M K", (1, 512), (3, 384), (1, 128)),
    ),
    "gemv_sliced": (
        "gemv_quantized", ({"W": "u2"}, {"W": "u3"}, {"W": "i8", "G": "64"}), {"BN": 32, "BK": 256},
        sizes("M N K", (1, 64, 512), (3, 100, 384), (1, 1, 128)),
    ),
    "gemv_quantized": (
        "gemv_quantized", ({"W": "u1"}, {"W": "u3"}, {"W": "i4", "G": "32"}), {},
        sizes("M N K", (1, 64, 512), (2, 100, 384), (1, 1, 128)),
    ),
    "splitk_bias": (
        "splitk_bias", FLOATS, {}, sizes("M N K", (16, 64, 512), (21, 70, 333), (1, 1, 1), (2, 3, 0)),
    ),
    "attention": (
        "attention", FLOATS, {"BS": 16, "BL": 32},
        sizes(
            "B S L HQ HK D",
            (2, 32, 64, 4, 2, 32), (2, 21, 50, 6, 2, 16), (3, 1, 45, 4, 1, 64), (1, 5, 5, 2, 2, 3),
        ),
    ),
    "attention_parts": (
        "attention_decode", FLOATS, {},
        sizes(
            "B S L HQ HK D P",
            (2, 1, 100, 8, 2, 32, 2), (1, 2, 70, 3, 3, 16, 2), (3, 1, 5, 4, 1, 64, 1),
        ),
    ),
    "join_parts": (
        "attention_decode", FLOATS, {},
        sizes("B P S HQ D", (2, 4, 1, 8, 64), (1, 35, 2, 3, 16), (3, 1, 1, 1, 70)),
    ),
    "attention_decode": (
        "attention_decode", FLOATS, {},
        sizes("B S L HQ HK D", (2, 1, 100, 8, 2, 32), (1, 2, 70, 3, 3, 16), (3, 1, 5, 4, 1, 64)),
    ),
    "lowrank": (
        "lowrank", FLOATS, SMALL_TILES,
        sizes("M K R N", (32, 64, 16, 128), (21, 75, 10, 100), (1, 1, 1, 1)),
    ),
    "lowrank_mlp": (
        "lowrank_mlp", FLOATS, {"BM": 16, "BF": 64, "BH": 32},
        sizes("M H F P Q R", (16, 64, 128, 16, 16, 16), (21, 70, 100, 9, 5, 12), (1, 1, 1, 1, 1, 1)),
    ),
    "xw": (
        "neuronmm", ({"T": "bf16"},), SMALL_TILES,
        sizes("M N K", (32, 128, 64), (21, 130, 75), (1, 1, 1)),
    ),
    "xuv": ("neuronmm", ({"T": "bf16"}, {"T": "f16"}), SMALL_TILES, LOW_RANKS),
    "xuv_to_t": ("neuronmm", ({"T": "bf16"},), SMALL_TILES, LOW_RANKS),
    "xuv_from_t": ("neuronmm", ({"T": "bf16"},), SMALL_TILES, LOW_RANKS),
    "up_and_gate": ("neuronmm", ({"T": "bf16"},), SMALL_TILES, LOW_RANKS),
    "mlp_low_rank": (
        "neuronmm", ({"T": "bf16"},), {},
        sizes("M K R N Q", (32, 64, 16, 128, 16), (21, 75, 10, 100, 20), (1, 1, 1, 1, 1)),
    ),
    "quantize_rows": (
        "w4a8", FLOATS, {"BK": 256}, sizes("M K", (8, 512), (5, 300), (1, 1), (0, 16)),
    ),
    "gemm_w4a8_channel": (
        "w4a8", HALVES, {"BN": 64, "BK": 64}, sizes("M N K", (16, 128, 128), (21, 70, 75), (1, 1, 1)),
    ),
    "gemm_w4a8_group": (
        "w4a8", (*HALVES, {"G": "32"}), {"BN": 64, "BK": 32},
        sizes("M N K", (16, 64, 256), (21, 70, 128), (1, 1, 128)),
    ),
    "w4a8_channel": ("w4a8", HALVES, {}, sizes("M N K", (16, 128, 128), (21, 70, 75), (1, 1, 1))),
    "w4a8_group": ("w4a8", HALVES, {}, sizes("M N K", (16, 128, 256), (21, 70, 128))),
    "tilus_plain": (
        "tilus_plain", PLAIN, {}, sizes("M N K", (16, 8, 16), (48, 24, 64), (0, 8, 16)),
    ),
    "tilus_rearrange": ("tilus_rearrange", PLAIN, {}, sizes("K N", (16, 8), (64, 40))),
    "tilus_rearrange_words": ("tilus_rearrange", PLAIN, {}, sizes("K N", (256, 32), (512, 96))),
    "tilus_pipelined": (
        "tilus_pipelined", PLAIN, {}, sizes("M N K", (16, 32, 256), (32, 64, 1024), (16, 32, 512)),
    ),
    "attention_input": (
        "attention_input", FLOATS, {},
        sizes("S H Q KV D", (64, 128, 128, 64, 32), (21, 100, 64, 32, 16), (1, 8, 4, 2, 2)),
    ),
    "mlp": ("mlp", FLOATS, {}, sizes("S H F", (64, 128, 128), (21, 100, 150), (1, 1, 1))),
    "flash_attention": (
        "decoder_layer", FLOATS, {"BS": 16, "BL": 32},
        sizes("S L Q KV", (32, 32, 256, 128), (21, 75, 128, 64), (1, 1, 64, 64)),
    ),
    "attention_step": (
        "decoder_layer", FLOATS, {"BL": 32},
        sizes("L Q KV", (64, 256, 128), (75, 128, 64), (1, 64, 64)),
    ),
    "output_ffn": (
        "decoder_layer", HALVES, {}, sizes("S Q H F", (32, 64, 128, 128), (21, 50, 100, 150)),
    ),
    "decode_layer": (
        "decoder_layer", HALVES, {},
        sizes("L Q KV H F", (64, 256, 64, 128, 64), (75, 128, 64, 100, 150)),
    ),
    "logits": (
        "lm_head", HALVES, SMALL_TILES, sizes("M N K", (32, 128, 64), (21, 130, 75), (1, 1, 1)),
    ),
    "lm_head": ("lm_head", HALVES, {}, sizes("S H P", (16, 64, 64), (1, 100, 70))),
}  # fmt: skip


def problem(kernel: str, dims: dict[str, int], define: dict[str, str], seed: int) -> Problem:
    """Arguments and expected outputs for the element types of a definition."""
    usual = {"softmax": "f32", "softmax_rows": "f32", "gemm_mx": "bf16"}
    usual |= dict.fromkeys((k for k in TABLE if TABLE[k][0] == "neuronmm"), "bf16")
    dtype = define.get("T", usual.get(kernel, "f16"))
    weights = {"gemm_mx": "f4e2m1", "gemv_sliced": "u2", "gemv_quantized": "u2"}
    weight = define.get("W", weights.get(kernel, "u4"))
    group = int(define.get("G", "32" if kernel == "gemm_quantized_zeros" else "128"))
    rng = np.random.default_rng(seed)
    return references.PROBLEMS[kernel](rng, {"G": group, **dims}, dtype=dtype, weight=weight)


def hold(posed: Problem) -> None:
    """Every output lies within its bound."""
    for name, expected in posed.expected.items():
        got: Any = posed.args[name].astype(np.float64)
        assert got.shape == expected.value.shape
        assert np.isfinite(got).all(), f"{name} has elements that were not written"
        excess = np.abs(got - expected.value) - expected.error
        assert excess.max(initial=0) <= 0, f"{name} is {excess.max():.3g} beyond its bound"
