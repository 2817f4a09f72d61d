"""Fused products of floats of at most 32 bits other than f32, rounded once."""

from __future__ import annotations

from dslc.compiler.dtypes import F64, I64, DType
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.small_floats import from_number
from dslc.compiler.vector.values import Operand


def fused(b: LegalBuilder, x: Operand, y: Operand, z: Operand, dtype: DType) -> Operand:
    """x * y + z of f32 that are values of the dtype, rounded to it.

    The product is exact in f64. Its sum with z is rounded to odd: where it is inexact, the neighbour
    with an odd last bit is taken, so that the rounding after it is as of the sum itself.
    """
    product = b.mul(b.convert(x, F64), b.convert(y, F64))
    z = b.convert(z, F64)
    total = b.add(product, z)
    back = b.sub(total, product)
    error = b.add(b.sub(product, b.sub(total, back)), b.sub(z, back))
    type_ = vector_type(total)
    bits = b.bitcast(total, type_.of(I64))
    even = b.binary("eq", b.binary("and", bits, 1), 0)
    finite = b.binary("lt", b.unary("abs", error), float("inf"))
    inexact = b.binary("and", b.binary("ne", error, 0.0), finite)
    outwards = b.binary("eq", b.binary("gt", error, 0.0), b.binary("gt", total, 0.0))
    step = b.select(outwards, b.operand(1, type_.of(I64)), -1)
    odd = b.bitcast(b.add(bits, step), type_)
    total = b.select(b.binary("and", inexact, even), odd, total)
    return from_number(b, total, dtype)
