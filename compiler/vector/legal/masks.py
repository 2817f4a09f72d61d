"""Accesses under masks where a machine has none: a branch for a scalar, a loop over a vector's lanes.

Masks are there for the ends of tensors, so that most of them hold for all lanes: a branch tells, and
those are ordinary accesses. A loop is small, however many lanes there are. Those that are loaded go
through memory of the function's own, on top of what lanes that are not hold.
"""

from __future__ import annotations

from dslc.compiler.dtypes import U8
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.types import PointerType, VectorType, memory_bytes
from dslc.compiler.vector.values import Operand

_BYTE = VectorType(U8)


def masked_load(b: LegalBuilder, i: mem.Load) -> Operand | None:
    """None where the machine has it, or there is no mask."""
    if i.mask is None or isinstance(i.out.type, PointerType):
        return None
    type_ = i.out.type
    fill = b.operand(0, type_) if i.fill is None else i.fill
    if type_.lanes is None:
        one = type_
        return b.if_(i.mask, lambda: [b.load(i.pointer, i.offset, one)], lambda: [fill])[0]
    if type_.dtype.bits >= b.capabilities.masked_bits:
        return None
    mask, size, one = i.mask, memory_bytes(type_), type_.by(None)

    def some() -> list[Operand]:
        own, flags = _flags(b, mask, type_)
        b.store(own, 0, fill, align=64)
        with b.loop(0, type_.count) as lane:
            at = b.mul(lane.var, size)

            def copied() -> list[Operand]:
                b.store(own, at, b.load(i.pointer, b.add(i.offset, at), one), align=size)
                return []

            b.if_(b.binary("ne", b.load(flags, lane.var, _BYTE), 0), copied)
        return [b.load(own, 0, type_, align=64)]

    every = b.reduce("and", mask)
    return b.if_(every, lambda: [b.load(i.pointer, i.offset, type_, align=i.align)], some)[0]


def masked_store(b: LegalBuilder, i: mem.Store) -> Operand | None:
    """The same of a store; the value stands for its result."""
    if i.mask is None or isinstance(i.value.type, PointerType):
        return None
    type_ = i.value.type

    def whole() -> list[Operand]:
        b.store(i.pointer, i.offset, i.value, align=i.align)
        return []

    if type_.lanes is None:
        b.if_(i.mask, whole)
        return i.value
    if type_.dtype.bits >= b.capabilities.masked_bits:
        return None
    mask, size, one = i.mask, memory_bytes(type_), type_.by(None)

    def some() -> list[Operand]:
        own, flags = _flags(b, mask, type_)
        b.store(own, 0, i.value, align=64)
        with b.loop(0, type_.count) as lane:
            at = b.mul(lane.var, size)

            def copied() -> list[Operand]:
                b.store(i.pointer, b.add(i.offset, at), b.load(own, at, one, align=size))
                return []

            b.if_(b.binary("ne", b.load(flags, lane.var, _BYTE), 0), copied)
        return []

    b.if_(b.reduce("and", mask), whole, some)
    return i.value


def _flags(b: LegalBuilder, mask: Operand, type_: VectorType) -> tuple[Operand, Operand]:
    """Room for the lanes, and after it a byte for each that says whether it is accessed."""
    room = -(-memory_bytes(type_) * type_.count // 64) * 64
    own = b.scratch(room + type_.count)
    flags = b.advance(own, room)
    b.store(flags, 0, b.convert(mask, U8), align=64)
    return own, flags
