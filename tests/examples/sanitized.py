"""Runs kernels of examples/ once each, for a checker that watches the process.

    compute-sanitizer --tool memcheck python sanitized.py gemm-f16 splitk_bias

Arrays of the host: each gets device memory of exactly its size, so that an access beyond it is seen.
"""

from __future__ import annotations

import sys

import dslc
from inputs import Dims

from calls import EXAMPLES, TABLE, hold, problem

# Ragged in every dim, with enough iterations of the loop over K to fill and drain the rings.
CASES: dict[str, tuple[str, dict[str, str], Dims]] = {
    "gemm-f16": ("gemm", {"T": "f16"}, {"M": 21, "N": 130, "K": 331}),
    "gemm-bf16": ("gemm", {"T": "bf16"}, {"M": 21, "N": 136, "K": 328}),
    "gemm-f32": ("gemm", {"T": "f32"}, {"M": 21, "N": 130, "K": 203}),
    "gemm_i8": ("gemm_i8", {}, {"M": 21, "N": 130, "K": 331}),
    "gemm_quantized-u4": ("gemm_quantized", {"W": "u4"}, {"M": 21, "N": 100, "K": 512}),
    "gemm_quantized-u3": ("gemm_quantized", {"W": "u3"}, {"M": 3, "N": 100, "K": 512}),
    "gemm_quantized-f6e3m2": (
        "gemm_quantized", {"W": "f6e3m2", "G": "64"}, {"M": 17, "N": 70, "K": 320},
    ),
    "gemv_quantized": ("gemv_quantized", {"W": "u3"}, {"M": 2, "N": 100, "K": 640}),
    "gemm_quantized_zeros": (
        "gemm_quantized_zeros", {"G": "32"}, {"M": 21, "N": 100, "K": 320},
    ),
    "softmax": ("softmax", {"T": "f16"}, {"M": 5, "N": 700}),
    "rmsnorm": ("rmsnorm", {"T": "bf16"}, {"M": 5, "H": 100}),
    "attention": (
        "attention", {"T": "f16"}, {"B": 2, "S": 21, "L": 150, "HQ": 6, "HK": 2, "D": 16},
    ),
    "splitk_bias": ("splitk_bias", {"T": "f16"}, {"M": 21, "N": 70, "K": 1333}),
    "w4a8_channel": ("w4a8_channel", {"T": "f16"}, {"M": 21, "N": 70, "K": 331}),
    "w4a8_group": ("w4a8_group", {"T": "f16"}, {"M": 21, "N": 70, "K": 384}),
    "attention_input": (
        "attention_input", {"T": "f16"}, {"S": 21, "H": 100, "Q": 64, "KV": 32, "D": 16},
    ),
}  # fmt: skip


def run(case: str) -> None:
    """Compile a kernel for the GPU, call it, compare its outputs with their bounds."""
    kernel, define, dims = CASES[case]
    file, _, config, _ = TABLE[kernel]
    posed = problem(kernel, dims, define, seed=3)
    library = dslc.compile(EXAMPLES / f"{file}.tile", target="cuda", define=define, cache=False)
    library[kernel](*posed.args.values(), **config)
    hold(posed)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(name)
        print(f"{name} is right")
