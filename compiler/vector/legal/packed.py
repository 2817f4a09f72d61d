"""Codes of fewer than 8 bits in a string of bits, as vectors of bytes and back."""

from __future__ import annotations

from collections.abc import Sequence

from dslc.compiler.dtypes import U8, DType
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.constants import lanes_of
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import U16, container, dtype_named, masked
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

U64 = dtype_named("u64")


def load_packed(
    b: LegalBuilder, pointer: Operand, offset: Operand, type_: VectorType, align: int
) -> Operand:
    """So many codes of the dtype in its container, the bytes that hold them read once."""
    size = -(-type_.count * type_.dtype.bits // 8)
    return unpacked(b, b.load(pointer, offset, VectorType(U8, size), align=align), type_)


def unpacked(b: LegalBuilder, content: Operand, type_: VectorType) -> Operand:
    """The codes in a vector of bytes, in the dtype's container."""
    dtype, count = type_.dtype, type_.count
    if b.capabilities.multishifts and count % (b.capabilities.vector_bits // 8) == 0:
        codes = _shifted(b, content, dtype.bits, count)
    elif 8 % dtype.bits == 0:
        codes = _divided(b, content, dtype.bits, count)
    else:
        codes = _cut(b, content, dtype.bits, count)
    held = b.bitcast(codes, VectorType(container(dtype), count))
    found = masked(b, held, dtype)
    return found if type_.lanes else b.extract(found, 0)


def _divided(b: LegalBuilder, content: Operand, bits: int, count: int) -> Operand:
    """1, 2 or 4 bits: the n-th codes of all bytes together, then one after another."""
    parts = [b.binary("rshift", content, at) for at in range(0, 8, bits)]
    lanes = [b.binary("and", part, (1 << bits) - 1) for part in parts]
    return b.part(_interleaved(b, lanes), 0, count)


def _interleaved(b: LegalBuilder, parts: Sequence[Operand]) -> Operand:
    """The first lanes of all parts, then the second ones, and so on; a power of two of them."""
    if len(parts) == 1:
        return parts[0]
    x, y = _interleaved(b, parts[::2]), _interleaved(b, parts[1::2])
    count = vector_type(x).count
    return b.shuffle(x, [at for i in range(count) for at in (i, count + i)], y)


def _shifted(b: LegalBuilder, content: Operand, bits: int, count: int) -> Operand:
    """Any width: eight codes are the bits of as many bytes, each shifted by its own number of them."""
    last = vector_type(content).count - 1
    lanes = b.capabilities.vector_bits // 8
    shifts = lanes_of([at % 8 * bits for at in range(lanes)], U8)
    parts = []
    for start in range(0, count, lanes):
        bytes_ = [min(at // 8 * bits + at % 8, last) for at in range(start, start + lanes)]
        found = b.binary("multishift", b.shuffle(content, bytes_), shifts)
        parts.append(b.binary("and", found, (1 << bits) - 1))
    return b.concat(*parts)


def _cut(b: LegalBuilder, content: Operand, bits: int, count: int) -> Operand:
    """Any width: the two bytes that a code may lie in, shifted; bits above it are left."""
    last = vector_type(content).count - 1
    first = [i * bits // 8 for i in range(count)]
    pairs = b.shuffle(content, [at for i in first for at in (i, min(i + 1, last))])
    words = b.bitcast(pairs, VectorType(U16, count))
    shifts = lanes_of([i * bits % 8 for i in range(count)], U16)
    low = b.binary("and", b.binary("rshift", words, shifts), (1 << bits) - 1)
    return b.convert(low, U8)


def store_packed(
    b: LegalBuilder, pointer: Operand, offset: Operand, x: Operand, dtype: DType, align: int
) -> None:
    """Codes in their container, eight of them joined in a word: pairs, fours, all."""
    type_ = vector_type(x)
    bits, count = dtype.bits, type_.count
    codes = b.bitcast(x, type_.of(U8))
    if type_.lanes is None:
        codes = b.broadcast(codes, 1)
    if rest := -count % 8:
        zero = b.operand(0, VectorType(U8, rest))
        codes = b.concat(codes, zero)
    words = b.bitcast(codes, VectorType(U64, (count + rest) // 8))
    for step in range(3):
        width, used = 8 << step, bits << step
        even = sum(((1 << used) - 1) << at for at in range(0, 64, 2 * width))
        high = b.binary("rshift", b.binary("and", words, even << width), width - used)
        words = b.binary("or", b.binary("and", words, even), high)
    size = count * bits // 8
    content = b.bitcast(words, VectorType(U8, count + rest))
    kept = [8 * (at // bits) + at % bits for at in range(size)]
    b.store(pointer, offset, b.shuffle(content, kept), align=align)
