"""Sums that an accumulator holds as the bits of a float.

A sum of products that stays below 2^22 need not be converted to f32: an accumulator that begins at
0x4B400000, the bits of 1.5 * 2^23, is the bits of 1.5 * 2^23 + sum all the time, since numbers of that
size have a unit of 1 in the last place. One subtraction, which is exact, gives the sum as f32.
"""

from __future__ import annotations

from collections.abc import Mapping

from dslc.codegen.chunks.intervals import interval
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins

BIASED = 0x4B400000
LIMIT = 1 << 22
SIXTEENTHS = 0x49400000
"""The bits of 1.5 * 2^19: a number of that size plus n units in the last place is n / 16 more."""


def fits_biased(dot: ins.Dot, made: Mapping[Value, ins.Stmt], out: DType) -> bool:
    """Whether a product's sums, from 0 on, stay where a biased accumulator is exact."""
    if out.name != "f32" or dot.acc is not None or not dot.a.type.dtype.is_integer:
        return False
    if not dot.b.type.dtype.is_integer or dot.out.type.dtype.bits != 32:
        return False
    a, b = interval(dot.a, made), interval(dot.b, made)
    most = max(abs(x * y) for x in a for y in b)
    return most * dot.a.type.shape[-1] < LIMIT
