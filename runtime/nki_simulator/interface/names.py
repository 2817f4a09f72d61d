"""The names of `nki.language` (nki 0.6) by kind, and those that the simulator has.

The list is the page nki/api/nki.language.rst of the API reference; data types are the table of
nki/api/nki.api.shared.rst.
"""

from __future__ import annotations

from collections.abc import Mapping

# divide, mod and fmod stand in the reference as functions that no engine has.
_WORDS: Mapping[str, str] = {
    "types": "bool_ int8 int16 int32 uint8 uint16 uint32 float16 float32 bfloat16 tfloat32 "
    "float8_e4m3 float8_e5m2 float8_e4m3fn float8_e5m2_x4 float8_e4m3fn_x4 "
    "float4_e2m1fn_x4",
    "buffers": "psum sbuf hbm private_hbm shared_hbm",
    "creation": "ndarray zeros ones full zeros_like empty_like shared_constant shared_identity_matrix "
    "rand random_seed",
    "movement": "load load_transpose2d store copy matmul transpose",
    "functions": "abs abs_max abs_min add arctan ceil cos exp floor log maximum minimum multiply "
    "negative power reciprocal rsqrt sign sin sqrt square subtract tan tanh trunc relu "
    "sigmoid silu silu_dx gelu gelu_dx gelu_apprx_sigmoid gelu_apprx_sigmoid_dx "
    "gelu_apprx_tanh mish softplus softmax erf erf_dx dropout rms_norm prelu",
    "reductions": "all max mean min prod sum var",
    "comparisons": "equal greater greater_equal less less_equal not_equal",
    "logic": "logical_and logical_not logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
    "invert left_shift right_shift where",
    "shapes": "ds broadcast_to expand_dims gather_flattened",
    "control": "affine_range sequential_range static_range dynamic_range fori_loop while_loop "
    "no_reorder",
    "others": "NkiTensor NKIObject tile_size program_id num_programs program_ndim device_print fp32 "
    "bypass",
    "operators alone": "average divide mod fmod dslice",
}

NAMES: Mapping[str, tuple[str, ...]] = {kind: tuple(t.split()) for kind, t in _WORDS.items()}
"""The names by kind."""

LANGUAGE_NAMES = frozenset(name for names in NAMES.values() for name in names)
"""Everything that `nki.language` has."""
