"""The shared memory that statements exchange tiles through, beside their buffers."""

from __future__ import annotations

from math import prod

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Body, walk
from dslc.compiler.layout import Conversion, conversion


def exchanged(body: Body, warp: int) -> int:
    """The most bytes that one conversion of a body takes: a whole tile between two barriers.

    Reductions over warps exchange as much at a time as there is room for, and are not counted.
    """
    return max((_bytes(s, warp) for s in walk(body) if isinstance(s, ins.ConvertLayout)), default=0)


def _bytes(stmt: ins.ConvertLayout, warp: int) -> int:
    source, target = stmt.x.type.layout, stmt.out.type.layout
    assert source is not None
    assert target is not None
    # A generator has no shuffles for lanes that exchange elements.
    if conversion(source, target, warp) in (Conversion.NONE, Conversion.REGISTERS):
        return 0
    return prod(stmt.x.type.shape) * _cell(stmt.x.type.dtype.bits)


def _cell(bits: int) -> int:
    """The bytes of an element in an exchange: a whole number of a machine's words or parts of one."""
    return 1 << max(0, (bits + 7) // 8 - 1).bit_length()
