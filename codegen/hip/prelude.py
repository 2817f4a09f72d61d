"""The device functions of HIP kernels: those of the family in HIP's words, the *.hip, mfma.py."""

from __future__ import annotations

import functools
import re

from dslc.codegen.c_family.functions import library, shared_functions
from dslc.codegen.c_family.functions import used as used_of
from dslc.codegen.hip import mfma
from dslc.codegen.hip.spelling import spelled

_LIBRARIES = ("functions.hip", "doubles.hip", "packed.hip", "memory.hip")
_VECTOR = re.compile(r"\b(f16|bf16|f32|i16|i32|u32)x(\d+)\b")
_ELEMENTS = {
    "f16": "_Float16",
    "bf16": "__bf16",
    "f32": "float",
    "i16": "short",
    "i32": "int",
    "u32": "unsigned",
}


@functools.cache
def functions() -> dict[str, str]:
    """Every function by name."""
    own = library("dslc.codegen.hip", *_LIBRARIES)
    shared = {name: spelled(code) for name, code in shared_functions().items()}
    return own | shared | mfma.functions()


def used(text: str) -> str:
    """The functions that a text names, and what these name in turn."""
    return used_of(text, functions())


def vectors(text: str) -> str:
    """The vector types that a text names."""
    used_vectors = sorted({(m[1], int(m[2])) for m in _VECTOR.finditer(text)})
    return "".join(
        f"typedef {_ELEMENTS[name]} {name}x{count} __attribute__((ext_vector_type({count})));\n"
        for name, count in used_vectors
    )
