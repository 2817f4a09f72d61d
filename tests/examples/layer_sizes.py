"""The sizes that kernels of the examples have in real models: decoder layers, one ragged for most."""

from __future__ import annotations

from inputs import Dims

from calls import sizes

HALVES = ("f16", "bf16")
# Kernel -> element types, dims.
SIZES: dict[str, tuple[tuple[str, ...], list[Dims]]] = {
    "vector_add": (("f32",), sizes("N", (1 << 24,), (1_000_003,))),
    "softmax": (("f32", "bf16"), sizes("M N", (4096, 8192), (37, 128_256))),
    "softmax_rows": (("f32", "bf16"), sizes("M N", (4096, 8192), (37, 5000))),
    "rmsnorm": (HALVES, sizes("M H", (4096, 8192), (333, 4096))),
    "layernorm": (HALVES, sizes("M H", (4096, 8192), (333, 4096))),
    "rope": (HALVES, sizes("S Q D", (4096, 8192, 128), (333, 1024, 64))),
    "rope_interleaved": (HALVES, sizes("S Q D", (4096, 8192, 128), (333, 1024, 64))),
    "swiglu": (HALVES, sizes("M F", (2048, 28_672), (333, 14_336))),
    "gemm": (HALVES, sizes("M N K", (2048, 4096, 4096), (1000, 1000, 1000), (1, 8192, 8192))),
    "gemm_i8": (("f16",), sizes("M N K", (2048, 4096, 4096), (1000, 1000, 1000))),
    "gemm_residual": (HALVES, sizes("M N K", (2048, 4096, 4096), (1000, 1000, 1000))),
    "gemm_quantized": (HALVES, sizes("M N K", (16, 8192, 8192), (1, 1000, 4096), (1000, 4096, 4096))),
    "gemm_quantized_zeros": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 1000, 4096))),
    "gemm_quantized_sums": (HALVES, sizes("M N K", (16, 8192, 8192), (1, 1000, 4096))),
    "slice_rows": (("f16",), sizes("M K", (1, 8192), (2, 28_672))),
    "gemv_sliced": (("f16",), sizes("M N K", (1, 8192, 8192), (2, 1000, 4096))),
    "gemv_quantized": (("f16",), sizes("M N K", (1, 8192, 8192), (2, 1000, 4096))),
    "gemm_mx": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 1000, 4096))),
    "gemm_nvfp4": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 1000, 4096))),
    "splitk_bias": (HALVES, sizes("M N K", (16, 1024, 28_672), (33, 1000, 4100))),
    "attention": (
        HALVES,
        sizes(
            "B S L HQ HK D",
            (2, 2048, 2048, 32, 8, 128),  # prefill
            (2, 300, 2000, 32, 8, 128),  # a chunk after a past
            (8, 1, 4096, 32, 8, 128),  # decode
            (2, 512, 512, 12, 12, 64),
        ),
    ),
    "attention_parts": (
        HALVES, sizes("B S L HQ HK D P", (8, 1, 4096, 32, 8, 128, 4), (2, 2, 1000, 12, 12, 64, 2)),
    ),
    "join_parts": (HALVES, sizes("B P S HQ D", (8, 4, 1, 32, 128), (64, 1, 1, 64, 128))),
    "attention_decode": (
        HALVES,
        sizes(
            "B S L HQ HK D",
            (8, 1, 4096, 32, 8, 128),
            (1, 1, 16_384, 64, 8, 128),
            (2, 4, 2000, 32, 8, 128),
            (2, 1, 1000, 12, 12, 64),
        ),
    ),
    "lowrank": (HALVES, sizes("M K R N", (2048, 4096, 64, 4096), (333, 1000, 32, 1000))),
    "lowrank_mlp": (HALVES, sizes("M H F P Q R", (512, 1024, 4096, 64, 64, 64))),
    "xw": (HALVES, sizes("M K N", (2048, 4096, 4096), (333, 1000, 1000))),
    **dict.fromkeys(
        ("xuv", "xuv_to_t", "xuv_from_t", "up_and_gate"),
        (HALVES, sizes("M K R N", (2048, 4096, 64, 4096), (333, 1000, 32, 1000))),
    ),
    "mlp_low_rank": (HALVES, sizes("M K R N Q", (512, 1024, 64, 4096, 64), (77, 520, 32, 1000, 32))),
    "quantize_rows": (HALVES, sizes("M K", (2048, 8192), (333, 5000))),
    "gemm_w4a8_channel": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "gemm_w4a8_group": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "w4a8_channel": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "w4a8_group": (HALVES, sizes("M N K", (16, 8192, 8192), (1000, 4096, 4096))),
    "attention_input": (
        HALVES, sizes("S H Q KV D", (2048, 4096, 4096, 1024, 128), (77, 512, 512, 128, 64)),
    ),
    "mlp": (HALVES, sizes("S H F", (2048, 4096, 14_336), (77, 512, 1376))),
    "flash_attention": (HALVES, sizes("S L Q KV", (256, 256, 2048, 512), (77, 77, 512, 128))),
    "attention_step": (HALVES, sizes("L Q KV", (320, 2048, 512), (77, 512, 128))),
    "output_ffn": (HALVES, sizes("S Q H F", (256, 2048, 2048, 8192), (77, 512, 512, 1376))),
    "decode_layer": (HALVES, sizes("L Q KV H F", (320, 2048, 512, 2048, 8192))),
    "logits": (HALVES, sizes("M N K", (1, 16_032, 2048), (77, 1000, 1000))),
    "lm_head": (HALVES, sizes("S H P", (1, 2048, 16_032), (77, 512, 1000))),
}  # fmt: skip
