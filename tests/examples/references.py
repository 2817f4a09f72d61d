"""For each kernel of examples/: random inputs of given dims, and what a correct run gives.

A problem function takes a random generator, the dims, the element type of `const T` and the weights'
type of `const W`. It gives the arguments in the kernel's order and the expected outputs by name.
"""

from __future__ import annotations

from collections.abc import Callable

from inputs import Problem
from reference_layers import (
    attention,
    attention_decode,
    attention_input,
    attention_parts,
    attention_step,
    decode_layer,
    flash_attention,
    join_parts,
    lm_head,
    logits,
    mlp,
    output_ffn,
)
from reference_neuronmm import (
    mlp_low_rank,
    up_and_gate,
    xuv,
    xuv_from_t,
    xuv_to_t,
    xw,
)
from reference_products import (
    gemm,
    gemm_i8,
    gemm_mx,
    gemm_nvfp4,
    gemm_quantized,
    gemm_quantized_sums,
    gemm_quantized_zeros,
    gemm_residual,
    lowrank,
    lowrank_mlp,
    splitk_bias,
)
from reference_rows import (
    layernorm,
    rmsnorm,
    rope,
    rope_interleaved,
    softmax,
    softmax_rows,
    swiglu,
    vector_add,
)
from reference_slices import gemv_quantized, gemv_sliced, slice_rows
from reference_tilus import (
    tilus_pipelined,
    tilus_plain,
    tilus_rearrange,
    tilus_rearrange_words,
)
from reference_w4a8 import (
    gemm_w4a8_channel,
    gemm_w4a8_group,
    quantize_rows,
    w4a8_channel,
    w4a8_group,
)

PROBLEMS: dict[str, Callable[..., Problem]] = {
    function.__name__: function
    for function in (
        vector_add, softmax, softmax_rows, rmsnorm, layernorm, rope, rope_interleaved, swiglu,
        gemm, gemm_i8, gemm_residual, gemm_quantized, gemm_quantized_sums, gemm_quantized_zeros,
        gemm_mx, gemm_nvfp4, slice_rows, gemv_sliced, gemv_quantized, splitk_bias, attention,
        attention_parts, join_parts, attention_decode,
        lowrank, lowrank_mlp, quantize_rows,
        gemm_w4a8_channel, gemm_w4a8_group, w4a8_channel, w4a8_group, tilus_plain, tilus_rearrange,
        tilus_rearrange_words, tilus_pipelined, attention_input, mlp, xw, xuv, xuv_to_t,
        xuv_from_t, up_and_gate, mlp_low_rank, flash_attention, attention_step, output_ffn,
        decode_layer, logits, lm_head,
    )
}  # fmt: skip
