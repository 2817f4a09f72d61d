"""Units that LLVM knows by name alone: dot-accumulate atoms and permutations, as intrinsics.

The lanes of each are those of one instruction; legalisation has divided wider vectors.
"""

from __future__ import annotations

from dslc.codegen.cpu.llvm.types import suffix, type_text
from dslc.codegen.cpu.llvm.writing import FunctionText
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.atoms import ATOMS
from dslc.compiler.vector.building.registers import vector_type

# By the atom and the lanes of its sums; of AArch64 by the types of the operands.
_X86 = {
    ("vpdpbusd", 4): "avx512.vpdpbusd.128",
    ("vpdpbusd", 8): "avx512.vpdpbusd.256",
    ("vpdpbusd", 16): "avx512.vpdpbusd.512",
    ("vpdpwssd", 4): "avx512.vpdpwssd.128",
    ("vpdpwssd", 8): "avx512.vpdpwssd.256",
    ("vpdpwssd", 16): "avx512.vpdpwssd.512",
    ("vdpbf16ps", 4): "avx512bf16.dpbf16ps.128",
    ("vdpbf16ps", 8): "avx512bf16.dpbf16ps.256",
    ("vdpbf16ps", 16): "avx512bf16.dpbf16ps.512",
    ("vpmaddubsw", 8): "ssse3.pmadd.ub.sw.128",
    ("vpmaddubsw", 16): "avx2.pmadd.ub.sw",
    ("vpmaddubsw", 32): "avx512.pmaddubs.w.512",
    ("vpmaddwd", 4): "sse2.pmadd.wd",
    ("vpmaddwd", 8): "avx2.pmadd.wd",
    ("vpmaddwd", 16): "avx512.pmaddw.d.512",
}
_AARCH64 = {"sdot", "udot", "usdot", "smmla", "ummla", "usmmla", "bfdot", "bfmmla"}

# By the bits and the lanes of a table whose index has as many.
_PERMUTATIONS = {
    (8, 64): "avx512.permvar.qi.512",
    (16, 32): "avx512.permvar.hi.512",
    (32, 16): "avx512.permvar.si.512",
    (64, 8): "avx512.permvar.di.512",
    (32, 8): "avx2.permd",
    (8, 16): "ssse3.pshuf.b.128",
}


def emit_dot(f: FunctionText, i: ins.Dot) -> str:
    """acc + the products of an atom."""
    out = type_text(i.out.type)
    lanes = vector_type(i.out).count
    given = [] if i.acc is None else [f.typed(i.acc)]
    if i.atom in _AARCH64:
        name = f"llvm.aarch64.neon.{i.atom}.{suffix(i.out.type)}.{suffix(i.a.type)}"
        if i.atom == "bfmmla":
            name = "llvm.aarch64.neon.bfmmla"
    else:
        name = f"llvm.x86.{_X86[i.atom, lanes]}"
    assert ATOMS[i.atom].accumulates == (i.acc is not None)
    return f.call(name, out, *given, f.typed(i.a), f.typed(i.b))


def emit_scale(f: FunctionText, i: ins.Binary) -> str:
    """x * 2^y, over vectors of 512 bits, under no mask and as the caller rounds."""
    type_ = vector_type(i.out)
    text, lanes = type_text(type_), type_.count
    name = f"llvm.x86.avx512.mask.scalef.p{'s' if type_.dtype.bits == 32 else 'd'}.512"
    return f.call(
        name, text, f.typed(i.x), f.typed(i.y), f"{text} zeroinitializer", f"i{lanes} -1", "i32 4"
    )


def emit_permute(f: FunctionText, i: ins.Permute) -> str:
    """Lane i of the result is lane index[i] of the table."""
    out = vector_type(i.out)
    index = f.typed(i.index)
    if (out.dtype.bits, out.count) == (8, 16):  # these give 0 where the index is past the table
        index = f"<16 x i8> {f.emit(f'and {index}, splat (i8 15)')}"
    if not f.module.is_x86:
        return f.call("llvm.aarch64.neon.tbl1.v16i8", type_text(out), f.typed(i.table), index)
    bits = out.of(vector_type(i.index).dtype)
    text = type_text(bits)
    table = f.value(i.table)
    if type_text(out) != text:
        table = f.emit(f"bitcast {f.typed(i.table)} to {text}")
    name = f"llvm.x86.{_PERMUTATIONS[out.dtype.bits, out.count]}"
    found = f.call(name, text, f"{text} {table}", index)
    return (
        found if type_text(out) == text else f.emit(f"bitcast {text} {found} to {type_text(out)}")
    )
