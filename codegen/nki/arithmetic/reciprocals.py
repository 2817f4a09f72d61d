"""Quotients and powers of floats, which the ALUs of the vector engine have not.

"Division is not available as a hardware instruction" (NKI release notes); the reciprocal is one, of the
vector engine. A quotient is a product with it, within two units in the last place; by a power of two it
is exact. Powers run on GpSimd, on two tiles.
"""

from __future__ import annotations

from dataclasses import replace
from math import frexp, isfinite

from dslc.codegen.nki.arithmetic.combining import combine
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import F32

_LEAST, _MOST = -125, 126  # exponents of divisors whose reciprocals are normal numbers


def quotient(e: Emission, made: TileValue, x: TileValue, y: TileValue) -> None:
    """made = x / y."""
    if y.constant is not None:
        number = _number(y.constant)
        if number is not None and _LEAST <= frexp(number)[1] <= _MOST:
            combine(e, made, "nl.multiply", x, replace(y, constant=repr(1 / number)))
            return
        y = e.tensors(y)
    column = y.is_row_scalar and not y.is_dense
    if x.constant is not None and _number(x.constant) == 1 and not column:
        _inverted(e, made, y)
    else:
        combine(e, made, "nl.multiply", x, inverse(e, y))


def inverse(e: Emission, y: TileValue) -> TileValue:
    """1 / y as f32: of one number a partition a column."""
    if not y.is_row_scalar:
        inverted = e.like(y, "inverse", F32)
        _inverted(e, inverted, y)
        return inverted
    column = replace(y, extents=(1,), offset=0, dtype=F32, name=e.out.name("inverse"), psum=False)
    if y.shared:
        e.out.line(f"{column.name} = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)")
        e.call("reciprocal", dst=column.name, data=e.column(y, At(None, 128)))
        return column
    with e.filled(column) as at:
        e.call("reciprocal", dst=e.column(column, at), data=e.column(y, at))
    return column


def power(e: Emission, made: TileValue, x: TileValue, y: TileValue) -> None:
    """made = x ** y; GpSimd does not reach PSUM, and takes two tiles."""
    x, y = (e.in_sbuf(e.tensors(t) if t.constant is not None else t) for t in (x, y))
    with e.filled(made) as at:
        e.call(
            "tensor_tensor",
            dst=e.text(made, at),
            data1=e.text(x, at),
            data2=e.text(y, at),
            op="nl.power",
            engine="nisa.engine.gpsimd",
        )


def _inverted(e: Emission, made: TileValue, y: TileValue) -> None:
    with e.filled(made) as at:
        e.call("reciprocal", dst=e.text(made, at), data=e.text(y, at))


def _number(text: str) -> float | None:
    """The number of a constant's text, where it is one that is finite and not 0."""
    try:
        number = float(text)
    except ValueError:
        return None  # an expression of what tracing knows
    return number if isfinite(number) and number else None
