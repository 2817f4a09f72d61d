"""Products of integers of 16 and 32 bits: those of their bytes, which the tensor engine sums exactly.

x = x0 + 2^8 x1 + ..., the last byte signed where x is. What is shifted past 32 bits is not needed: the
sums wrap.
"""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.arithmetic.composed import Steps
from dslc.codegen.nki.emission import Emission
from dslc.compiler.dtypes import I32, U8, U32, DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins

_BITS = 8
_I8 = DType("i8", Kind.INT, 8)


def wide_product(e: Emission, stmt: ins.Dot) -> None:
    """out = a @ b + acc, modulo 2^32."""
    s = Steps(e, stmt.out)
    left, right = _bytes(e, stmt.a), _bytes(e, stmt.b)
    total = stmt.acc
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            shift = _BITS * (i + j)
            if shift >= I32.bits:
                continue
            product = s.tile(I32)
            e.statement(replace(stmt, out=product, a=a, b=b, acc=None))
            if shift:
                product = s.binary("shl", product, s.number(shift, I32))
            total = product if total is None else s.binary("add", total, product)
    assert total is not None
    e.rename(stmt.out, e.held(total))


def _bytes(e: Emission, x: Value) -> list[Value]:
    """The bytes of an integer, the lowest first; of one byte it is the only one."""
    dtype, s = x.type.dtype, Steps(e, x)
    if dtype.bits <= _BITS:
        return [x]
    wide = s.cast(x, U32 if dtype == U32 else I32)
    parts = []
    for shift in range(0, dtype.bits, _BITS):
        moved = s.binary("shr", wide, s.number(shift, wide.type.dtype)) if shift else wide
        top = shift + _BITS == dtype.bits and dtype.is_signed
        parts.append(s.cast(moved, _I8 if top else U8))
    return parts
