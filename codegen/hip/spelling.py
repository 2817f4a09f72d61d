"""The words of HIP texts for those of CUDA C in which the emitters of the family write.

HIP's headers have most of CUDA's words too, but what they mean depends on the version and on device
libraries. A text with words of its own means the same under every compiler.
"""

from __future__ import annotations

import re

from dslc.codegen.c_family.scalars import FLOAT_FUNCTIONS

_OWN = {
    "threadIdx.x": "thread_index()",
    "blockIdx.x": "block_index()",
    "__syncthreads": "block_barrier",
    "__threadfence": "device_fence",
    "__trap": "__builtin_trap",
    "__uint_as_float": "as_f32",
    "__float_as_uint": "bits_f32",
    "__longlong_as_double": "as_f64",
    "min": "least",
    "max": "greatest",
    "fma": "fma_f64",
    "fmaf": "fma_f32",
    "fminf": "min_f32",
    "fmaxf": "max_f32",
    "fmod": "mod_f64",
    "fmodf": "mod_f32",
    "pow": "pow_f64",
    "powf": "pow_f32",
}
_OPERATIONS = {
    f"__{letter}{op}_rn": f"{op}_{dtype}"
    for letter, dtype in (("f", "f32"), ("d", "f64"))
    for op in ("add", "sub", "mul")
}
_FUNCTIONS = {
    name.removesuffix("f") + ("f" if dtype == "f32" else ""): f"{plain}_{dtype}"
    for name in FLOAT_FUNCTIONS.values()
    for dtype in ("f32", "f64")
    for plain in (name.removesuffix("f").removeprefix("fabs") or "abs",)
}
SPELLINGS = {**_OWN, **_OPERATIONS, **_FUNCTIONS}
_SHUFFLE = re.compile(r"__shfl_xor_sync\(0xffffffffu, (.*?), (\d+)\)")
_LONGEST_FIRST = "|".join(sorted(map(re.escape, SPELLINGS), key=len, reverse=True))
_WORDS = re.compile(rf"(?<![\w.])(?:{_LONGEST_FIRST})\b")


def spelled(text: str) -> str:
    """A text of the family in HIP's words; what exchanges lanes has the distance as a constant."""
    text = _SHUFFLE.sub(r"shuffle_xor<\2>(\1)", text)
    return _WORDS.sub(lambda m: SPELLINGS[m[0]], text)
