"""The wave's matrix instructions as device functions, written from the atoms of the targets.

`mfma_16x16x32_f16_f16(d, a, b)` adds a times b to the accumulators d: pointers to the registers of one
lane's fragments, which are whole vectors to the compiler, so that it keeps them in one place (AMD
Instinct MI300 and CDNA4 instruction set references, "Matrix arithmetic instructions"). The compiler
has a builtin for each, and puts the wait states between them.
"""

from __future__ import annotations

import functools
from typing import Protocol

from dslc.codegen.c_family.ctypes_of import element_type, is_packed
from dslc.codegen.c_family.products.matrix import name_of
from dslc.compiler.dtypes import DType, parse_dtype
from dslc.compiler.targets import TARGETS, Atom

_SMALL = {
    "f8e4m3": ("fp8", 0),
    "f8e5m2": ("bf8", 1),
    "f6e2m3": ("fp6", 2),
    "f6e3m2": ("bf6", 3),
    "f4e2m1": ("fp4", 4),
}
UNSCALED = "0, 0, 0, 0"  # which byte of which word, of a and of b: the compiler leaves them out
SCALED = "_scaled"  # the suffix of functions that take scales
_BF16_OF_GFX942 = {"16x16x16": "16x16x16bf16_1k", "32x32x8": "32x32x8bf16_1k"}


class Writer(Protocol):
    """Writes an instruction on operands of these types as a function, `scaled` with their scales."""

    def __call__(self, atom: Atom, a: str, b: str, c: str, *, scaled: bool) -> str:
        """Its text."""


@functools.cache
def functions() -> dict[str, str]:
    """Every instruction of AMD's targets as a device function, by name."""
    return written(_function)


def written(write: Writer) -> dict[str, str]:
    """Every instruction of AMD's targets as a function, by the name that HIP texts have for it."""
    atoms = (atom for t in TARGETS.values() if t.family == "hip" for atom in t.atoms)
    return {
        name_of(atom, a, b) + (SCALED if scaled else ""): write(atom, a, b, c, scaled=scaled)
        for atom in atoms
        for a, b, c in atom.types
        for scaled in ((False, True) if atom.scaled else (False,))
    }


def _function(atom: Atom, a: str, b: str, c: str, *, scaled: bool) -> str:
    assert atom.a is not None
    assert atom.b is not None
    left, right, result = (_known(n) for n in (a, b, c))
    name, kind, tail = builtin(atom, a, b)
    of_a, of_b = (
        _operand("ab"[i], dtype, layout.locals, kind)
        for i, (dtype, layout) in enumerate(((left, atom.a), (right, atom.b)))
    )
    count = atom.c.locals
    vector = f"{result.name}x{count}"
    arguments = (
        f"{element_type(result)}* d, const {_register(left)}* a, const {_register(right)}* b"
    )
    if scaled:  # each scale is a byte of a word, which the instruction picks
        arguments += ", unsigned scale_a, unsigned scale_b"
        tail = tail.removesuffix(UNSCALED) + "A, (int)scale_a, B, (int)scale_b"
    return (
        f"{'template <int A, int B> ' if scaled else ''}DEVICE void "
        f"{name_of(atom, a, b)}{SCALED if scaled else ''}({arguments}) {{\n"
        f"  {vector}* const c = ({vector}*)d;\n"
        f"  *c = __builtin_amdgcn_mfma_{name}({of_a}, {of_b}, *c, {tail});\n}}"
    )


def builtin(atom: Atom, a: str, b: str) -> tuple[str, str, str]:
    """The builtin's name after its prefix, the C type of an operand, its last arguments."""
    shape = f"{atom.m}x{atom.n}x{atom.k}"
    depth = atom.a.locals if atom.a is not None else 0
    if a in _SMALL:
        (name_a, code_a), (name_b, code_b) = _SMALL[a], _SMALL[b]
        if atom.scaled:
            return f"scale_f32_{shape}_f8f6f4", "i32x8", f"{code_a}, {code_b}, {UNSCALED}"
        return f"f32_{shape}_{name_a}_{name_b}", "long", "0, 0, 0"
    if a == "i8":
        return f"i32_{shape}_i8", "long" if depth == 8 else "i32x4", "0, 0, 0"
    if a == "f32":
        return f"f32_{shape}f32", "float", "0, 0, 0"
    if a == "tf32":
        return f"f32_{shape}_xf32", "f32x2", "0, 0, 0"
    if shape in _BF16_OF_GFX942:
        spelled = f"{shape}f16" if a == "f16" else _BF16_OF_GFX942[shape]
        return f"f32_{spelled}", "f16x4" if a == "f16" else "i16x4", "0, 0, 0"
    return f"f32_{shape}_{a}", f"{a}x8", "0, 0, 0"


def _operand(name: str, dtype: DType, count: int, kind: str) -> str:
    """One lane's elements of an operand, as the builtin takes them."""
    if kind == "float":
        return f"{name}[0]"
    words = count * dtype.bits // 32 if is_packed(dtype) else count
    if kind in ("f32x2", f"i32x{words}"):
        return f"*(const {kind}*){name}"
    if kind == "i32x8":  # narrower elements leave the last words without meaning
        cells = ", ".join([f"(int){name}[{i}]" for i in range(words)] + ["0"] * (8 - words))
        return f"i32x8{{{cells}}}"
    return f"__builtin_bit_cast({kind}, *(const u32x{words}*){name})"


def _register(dtype: DType) -> str:
    return "unsigned" if is_packed(dtype) else element_type(dtype)


def _known(name: str) -> DType:
    dtype = parse_dtype(name)
    assert dtype is not None, name
    return dtype
