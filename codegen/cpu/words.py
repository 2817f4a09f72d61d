"""Codes of weights whose lanes lie in words: four of k of a column, as the storage order has them.

    a byte has the codes of several columns:    x = the words of 16 columns;  x >> 8 k + bit
    codes follow each other bit by bit:         x = 64 codes, each moved to a byte;  x >> 8 k

So one load and, of codes of an odd width, two permutations bring four codes of sixteen columns. As
floats they need neither a shift nor a conversion: a code is the last bits of a float between two powers
of two,

    2^e | code << p  =  2^e + code      with p = 23 - e

which one operation on bits makes, and from which 2^e is taken, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.bit_positions import coordinates, digits
from dslc.codegen.cpu.places import Live
from dslc.compiler.dtypes import F32, U8, U32, DType, decode, parse_dtype
from dslc.compiler.dtypes.dtype import Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.layout import Layout
from dslc.compiler.passes.cpu.weight_order import DEPTH
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_WORD = 4  # bytes
_MANTISSA, _BIAS = 23, 127  # of f32
_UPPER = 16  # of a word: codes from there on are moved down together


@dataclass(frozen=True, slots=True)
class Field:
    """Words of u32, and the bit from which on each has a code; around it lie others."""

    words: Operand
    bit: int
    dtype: DType


def codes(e: Emission, i: ins.View, at: At) -> Operand | None:
    """A chunk of codes of fewer than 8 bits that neighbours in memory hold; None of others."""
    if i.x.type.dtype.bits != 8 or at.count < DEPTH:
        return None
    found = _neighbours(e, i, at)
    if found is not None:
        return found
    field = _field(e, i, at)
    if field is None:
        return None
    x = field.words
    if field.bit:
        x = e.b.binary("rshift", x, field.bit)
    narrow = e.b.convert(x, _unsigned(field.dtype.bits))
    return e.b.bitcast(narrow, vector_type(narrow).of(field.dtype))


def field_of(e: Emission, value: Value, at: At) -> Field | None:
    """The same as words, if the tile is a view of bytes."""
    stmt = None if value in e.homes else e.lazy.get(value)
    if not isinstance(stmt, ins.View) or stmt.x.type.dtype.bits != 8 or at.count < DEPTH:
        return None
    if stmt.out.type.dtype.bits > 8:
        return None
    return _field(e, stmt, at)


def as_float(e: Emission, field: Field) -> tuple[Operand, float] | None:
    """Integers as floats that are greater than they by a number; None of codes that are floats."""
    dtype, bit, words = field.dtype, field.bit, field.words
    if not dtype.is_integer:
        return None
    if bit >= _UPPER:
        words, bit = e.b.binary("rshift", words, _UPPER), bit - _UPPER
    top = 1 << (dtype.bits - 1) if dtype.kind is not Kind.UINT else 0
    exponent = _MANTISSA - bit
    mask = ((1 << dtype.bits) - 1) << bit
    # The sign of a code is turned over, so that codes count from the least.
    base = ((_BIAS + exponent) << _MANTISSA) | (top << bit)
    cut = e.b.binary("and", words, mask)
    joined = e.b.binary("xor" if top else "or", cut, base)
    return e.b.bitcast(joined, VectorType(F32, vector_type(words).count)), float(
        (1 << exponent) + top
    )


def number(e: Emission, i: ins.Cast, at: At) -> Operand | None:
    """A cast of such integers to f32; None of others."""
    if i.out.type.dtype != F32:
        return None
    field = field_of(e, i.x, at)
    if field is None:
        return None
    found = as_float(e, field)
    return _of_table(e, field) if found is None else e.b.sub(*found)


def _of_table(e: Emission, field: Field) -> Operand | None:
    """Floats of up to 4 bits by a table in a register, where one instruction looks up all lanes."""
    dtype, lanes = field.dtype, vector_type(field.words).count
    if 1 << dtype.bits > lanes or "avx512f" not in e.machine.features or lanes != 16:
        return None
    numbers = decode(np.arange(lanes, dtype=np.uint8) % (1 << dtype.bits), dtype)
    table = lanes_of([float(x) for x in numbers], F32)
    return e.b.permute(table, e.b.binary("rshift", field.words, field.bit))


def scaled(e: Emission, code: Value, scale: Value, at: At) -> Operand | None:
    """Such a cast of unsigned codes times a tile of scales, rounded once; None of others.

        (2^e + code) s - 2^e s  =  code s

    The second product is exact, and the same for all codes of a column. Scales from 2^(127 - e) on
    give no numbers, where the code times the scale may still be one.
    """
    stmt = None if code in e.homes else e.lazy.get(code)
    if not isinstance(stmt, ins.Cast) or stmt.out.type.dtype != F32:
        return None
    if stmt.x.type.dtype.kind is not Kind.UINT:
        return None
    field = field_of(e, stmt.x, at)
    found = None if field is None else as_float(e, field)
    if found is None:
        return None
    x, more = found
    by = e.pull(scale, at)
    key = ("scaled", by, more)
    less = e.recall(key)
    if less is None:
        with e.ahead_of(e.made_at(by)):
            less = e.remember(key, e.b.mul(by, -more))
    return e.b.fma(x, by, less)


# Where the codes are


def _neighbours(e: Emission, i: ins.View, at: At) -> Operand | None:
    """Codes that follow each other from the first bit of a byte on."""
    layout, width = _layout(i), i.out.type.dtype.bits
    thread, first = _place(layout, at.lane(0))
    bit = first.scale(width)
    byte = bit.divide(Linear(constant=8))
    if width >= 8 or bit != byte.scale(8) or at.count * width % 8:
        return None
    for k in range(1, at.count):
        if _place(layout, at.lane(k)) != (thread, first + Linear(constant=k)):
            return None
    count = at.count * width // 8
    live = at.live
    if isinstance(live, Live):
        if not isinstance(live.mask, Constant):
            return None
        given = live.mask.values
        counts = [given[k % len(given)] for k in range(at.count)]
        some = [any(counts[8 * n // width : -(-(8 * n + 8) // width)]) for n in range(count)]
        live = None if all(some) else Live(lanes_of(some, live.mask.type.dtype), live.level)
    numbers = [byte + Linear(constant=n) for n in range(count)]
    content = _bytes(e, i.x, thread, numbers, live)
    return None if content is None else e.b.bitcast(content, _of(i, at.count))


def _field(e: Emission, i: ins.View, at: At) -> Field | None:
    return _shared_words(e, i, at) or _words_of_codes(e, i, at)


def _shared_words(e: Emission, i: ins.View, at: At) -> Field | None:
    """Lanes that are each in a word of four bytes of its own, side by side."""
    layout, width, count = _layout(i), i.out.type.dtype.bits, at.count
    thread, number = _place(layout, at.lane(0))
    bit = number.scale(width)
    byte = bit.divide(Linear(constant=8))
    shift = bit + byte.scale(-8)
    first = byte.constant % _WORD
    aligned = byte + Linear(constant=-first)
    if not shift.is_constant or shift.constant + width > 8:
        return None
    if any(k % _WORD for k in aligned.terms.values()) or _locals(i) % _WORD:
        return None
    step = 8 * _WORD // width if 8 * _WORD % width == 0 else 0
    for k in range(1, count):
        if not step or _place(layout, at.lane(k)) != (thread, number + Linear(constant=k * step)):
            return None
    live = at.live
    if isinstance(live, Live):
        lanes = [k // _WORD for k in range(_WORD * count)]
        live = Live(e.b.shuffle(live.mask, lanes), e.level)
    content = _bytes(
        e, i.x, thread, [aligned + Linear(constant=k) for k in range(_WORD * count)], live
    )
    if content is None:
        return None
    x = e.b.bitcast(content, VectorType(U32, count))
    return Field(x, 8 * first + shift.constant, i.out.type.dtype)


def _words_of_codes(e: Emission, i: ins.View, at: At) -> Field | None:
    """Lanes that are each in four codes of its own, side by side: all of them, each in a byte."""
    layout, count, dtype = _layout(i), at.count, i.out.type.dtype
    thread, number = _place(layout, at.lane(0))
    first = number.constant % DEPTH
    aligned = number + Linear(constant=-first)
    if dtype.bits >= 8 or at.live is not None:
        return None
    if any(k % DEPTH for k in aligned.terms.values()):
        return None
    for k in range(1, count):
        if _place(layout, at.lane(k)) != (thread, number + Linear(constant=k * DEPTH)):
            return None
    numbers = [aligned + Linear(constant=k) for k in range(DEPTH * count)]
    wide = _at(layout, thread, numbers, None)
    if wide is None:
        return None
    if (aligned.scale(dtype.bits)).divide(Linear(constant=8)).scale(8) != aligned.scale(dtype.bits):
        return None
    found = e.pull(i.out, wide)
    bytes_ = e.b.convert(e.b.bitcast(found, vector_type(found).of(_unsigned(dtype.bits))), U8)
    return Field(e.b.bitcast(bytes_, VectorType(U32, count)), 8 * first, dtype)


def _bytes(
    e: Emission, x: Value, thread: Linear, numbers: list[Linear], live: Live | object
) -> Operand | None:
    """So many bytes of a tile, by thread and place; None where they do not lie at known distances."""
    layout = x.type.layout
    assert layout is not None
    at = _at(layout, thread, numbers, live)
    if at is None:
        return None
    found = e.pull(x, at)
    return e.b.bitcast(found, vector_type(found).of(U8))


def _at(layout: Layout, thread: Linear, numbers: list[Linear], live: Live | object) -> At | None:
    spots = [coordinates(layout, thread, n) for n in numbers]
    steps = [tuple(a - b for a, b in zip(spot, spots[0], strict=True)) for spot in spots]
    if not all(d.is_constant for step in steps for d in step):
        return None
    return At(spots[0], tuple(tuple(d.constant for d in step) for step in steps), live)


def _place(layout: Layout, where: tuple[Linear, ...]) -> tuple[Linear, Linear]:
    """The thread that holds an element, and its number among the thread's."""
    return (
        digits(layout.spatial_modes, layout.shape, where),
        digits(layout.local_modes, layout.shape, where),
    )


def _layout(i: ins.View) -> Layout:
    layout = i.out.type.layout
    assert layout is not None
    return layout


def _locals(i: ins.View) -> int:
    assert i.x.type.layout is not None
    return i.x.type.layout.locals


def _of(i: ins.View, count: int) -> VectorType:
    return VectorType(i.out.type.dtype, count)


def _unsigned(bits: int) -> DType:
    found = parse_dtype(f"u{bits}")
    assert found is not None
    return found
