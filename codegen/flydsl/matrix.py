"""The wave's matrix instructions as functions of FlyDSL, from the atoms of the targets."""

from __future__ import annotations

import functools

from dslc.codegen.c_family.ctypes_of import is_packed
from dslc.codegen.c_family.products.matrix import name_of
from dslc.codegen.hip.mfma import SCALED, UNSCALED, builtin, written
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.targets import Atom

_ELEMENTS = {
    "f16": "T.f16",
    "bf16": "T.bf16",
    "i16": "T.i16",
    "i32": "T.i32",
    "f32": "T.f32",
}
# Those that `flydsl.expr.rocdl` has a function for; the others are LLVM's intrinsics.
_WRAPPED = frozenset((
    "f32_32x32x8f16", "f32_32x32x8bf16_1k", "f32_32x32x16_f16", "f32_32x32x16_bf16", "f32_16x16x16f16",
    "f32_16x16x16bf16_1k", "f32_16x16x32_fp8_fp8", "i32_16x16x32_i8", "f32_16x16x32_f16",
    "f32_16x16x32_bf16", "scale_f32_16x16x128_f8f6f4", "scale_f32_32x32x64_f8f6f4",
))  # fmt: skip


@functools.cache
def functions() -> dict[str, str]:
    """Every instruction of AMD's targets as a function, by the name that HIP texts have for it."""
    return written(_function)


def _function(atom: Atom, a: str, b: str, c: str, *, scaled: bool) -> str:
    assert atom.a is not None
    assert atom.b is not None
    name, kind, tail = builtin(atom, a, b)
    operands = ", ".join(
        _operand(letter, dtype, layout.locals, kind)
        for letter, dtype, layout in (("a", a, atom.a), ("b", b, atom.b))
    )
    vector = f"T.vec({atom.c.locals}, {_ELEMENTS[c]})"
    head = f"{name_of(atom, a, b)}(d, a, b)"
    if scaled:  # each scale is a byte of a word, which the instruction picks
        head = f"{name_of(atom, a, b)}{SCALED}(A, B, d, a, b, scale_a, scale_b)"
        tail = tail.removesuffix(UNSCALED) + "A, fx.Int32(scale_a), B, fx.Int32(scale_b)"
    if name in _WRAPPED:
        product = f"rocdl.mfma_{name}({vector}, [{operands}, c, {tail}])"
    else:
        dotted = name.replace("_", ".")
        product = f'raw("llvm.amdgcn.mfma.{dotted}", {vector}, {operands}, c, {tail})'
    return f"def {head}:\n    c = lanes(d, {vector})\n    d.store({product})"


def _operand(letter: str, name: str, count: int, kind: str) -> str:
    """One lane's elements of an operand, as the instruction takes them."""
    dtype = parse_dtype(name)
    assert dtype is not None
    words = count * dtype.bits // 32 if is_packed(dtype) else count
    if kind == "float":
        return f"fx.as_ir_value({letter}[0])"
    if kind == "f32x2":
        return f"lanes({letter}, T.vec(2, T.f32))"
    if kind == "long":
        return f"llvm.bitcast(T.i64, lanes({letter}, T.vec({words}, T.i32)))"
    element, _, length = kind.partition("x")
    if element == "i32" and int(length) == words:
        return f"lanes({letter}, T.vec({words}, T.i32))"
    if element == "i32":
        return f"widened({letter}, {words}, {length})"
    kind = f"T.vec({length}, {_ELEMENTS[element]})"
    return f"llvm.bitcast({kind}, lanes({letter}, T.vec({words}, T.i32)))"
