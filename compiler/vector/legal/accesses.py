"""Accesses to memory that machines have not: elements apart from each other, atomics of floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dslc.compiler.dtypes import BOOL, INDEX, DType
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.constants import lanes_of
from dslc.compiler.vector.legal.builder import LegalBuilder, Rule
from dslc.compiler.vector.legal.containers import dtype_named
from dslc.compiler.vector.legal.masks import masked_load, masked_store
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand, Register

_FEWEST = 16  # bytes that are worth it


def _load(b: LegalBuilder, i: mem.Load) -> Operand | None:
    """Bytes whose number is no power of two come in one masked load, or in the powers that they are.

    LLVM would bring what is left behind the greatest power byte by byte.
    """
    type_ = i.out.type
    if i.mask is not None or not isinstance(type_, VectorType) or type_.dtype.bits != 8:
        return masked_load(b, i)
    count = type_.count
    if count <= _FEWEST or count & (count - 1) == 0:
        return None
    whole = 1 << count.bit_length()
    if b.capabilities.masked_bits <= 8 and whole * 8 <= b.capabilities.vector_bits:
        some = lanes_of([at < count for at in range(whole)], BOOL)
        wide = b.load(i.pointer, i.offset, type_.by(whole), mask=some, align=i.align)
        return b.part(wide, 0, count)
    parts, at = [], 0
    while at < count:
        size = 1 << ((count - at).bit_length() - 1)
        align = i.align if at == 0 else 1
        parts.append(b.load(i.pointer, b.add(i.offset, at), type_.by(size), align=align))
        at += size
    return b.concat(*parts)


def _load_strided(b: LegalBuilder, i: mem.LoadStrided) -> Operand:
    """Neighbours are a load, equal offsets a broadcast, all others gathered."""
    type_ = vector_type(i.out)
    size = max(1, type_.dtype.bits // 8)
    stride = i.stride.values[0] if isinstance(i.stride, Constant) else None
    if stride == size:
        return b.load(i.pointer, i.offset, type_, mask=i.mask, fill=i.fill, align=i.align)
    at = b.mul(b.iota(type_.count, INDEX), b.broadcast(i.stride, type_.count))
    return b.gather(
        i.pointer, i.offset, at, type_.dtype, scale=1, mask=i.mask, fill=i.fill, align=i.align
    )


def _store_strided(b: LegalBuilder, i: mem.StoreStrided) -> Operand:
    type_ = vector_type(i.value)
    if isinstance(i.stride, Constant) and i.stride.values[0] == max(1, type_.dtype.bits // 8):
        b.store(i.pointer, i.offset, i.value, mask=i.mask, align=i.align)
        return i.value
    at = b.mul(b.iota(type_.count, INDEX), b.broadcast(i.stride, type_.count))
    b.scatter(i.pointer, i.offset, at, i.value, scale=1, mask=i.mask, align=i.align)
    return i.value


def exchanged(
    b: LegalBuilder, i: mem.AtomicUpdate, held: DType, combine: Callable[[Operand], Operand]
) -> Operand:
    """An atomic update that no machine has: what is there is replaced if it still is what was read."""
    bits = VectorType(dtype_named(f"u{held.bits}"))
    old = b.append_result(mem.AtomicLoad(Register(bits), i.pointer, i.offset, loc=i.loc))

    def once(seen: Operand) -> Operand:
        """The bits that were there when those seen were to be replaced."""
        new = b.bitcast(combine(b.bitcast(seen, bits.of(held))), bits)
        return b.append_result(
            mem.CompareExchange(Register(bits), i.pointer, i.offset, seen, new, i.order, loc=i.loc)
        )

    def test(carried: tuple[Register, ...]) -> list[Operand]:
        return [b.binary("ne", carried[0], carried[1])]

    def body(carried: tuple[Register, ...]) -> list[Operand]:
        return [carried[1], once(carried[1])]

    # The first value seen is carried beside what was there at the exchange: equal ones end the loop.
    results = b.while_([old, once(old)], test, body)
    return b.bitcast(results[0], bits.of(held))


MEMORY_RULES: Mapping[type[Any], Rule] = {
    mem.Load: _load,
    mem.Store: masked_store,
    mem.LoadStrided: _load_strided,
    mem.StoreStrided: _store_strided,
}
