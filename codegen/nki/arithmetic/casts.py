"""Casts: an engine reads one type and writes another; rounding to whole numbers is said apart."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.arithmetic.bits import viewed
from dslc.codegen.nki.arithmetic.combining import combine, compared, put, widened, wrap
from dslc.codegen.nki.arithmetic.eight_bits import round_to
from dslc.codegen.nki.arithmetic.encoding import encode
from dslc.codegen.nki.arithmetic.rounding import rounded
from dslc.codegen.nki.arithmetic.small_floats import decode
from dslc.codegen.nki.dtypes import is_code
from dslc.codegen.nki.emission import Emission, Emit
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, F32, I32, DType, limits
from dslc.compiler.ir import instructions as ins


def cast(e: Emission, stmt: ins.Cast) -> None:
    """Another type."""
    x, here, there = e.held(stmt.x), stmt.x.type.dtype, stmt.out.type.dtype
    if (
        x.constant is None and x.dtype == there and not stmt.saturate
    ):  # a product that has left PSUM so
        e.rename(stmt.out, x)
        return
    if is_code(here):
        if there.is_float and not is_code(there) and not stmt.saturate:
            e.rename(stmt.out, decode(e, x, here, there))
            return
        x, here = decode(e, x, here, F32), F32
    if is_code(there):
        rounding = round_to if there.name in e.engines.floats8 else encode
        rounding(e, e.result(stmt.out), x, there, saturate=stmt.saturate)
    elif here == BOOL and there.is_signed and there.bits == 1:  # which holds 0 and -1
        if stmt.saturate:
            e.values[stmt.out] = e.constant(stmt.out, "0")
            return
        combine(e, e.result(stmt.out), "nl.multiply", x, _number(e, x, "-1.0"))
    elif here.is_float and there.is_integer:
        _to_integer(e, stmt, x, there)
    elif here.is_integer and there.is_integer:
        _between_integers(e, stmt, x, here, there)
    elif there == BOOL:
        combine(e, e.result(stmt.out), "nl.not_equal", x, _number(e, x, "0"))
    elif stmt.saturate:
        _kept_within(e, stmt, x, float(limits(there).greatest))
    else:
        copy(e, e.result(stmt.out), x)


def _kept_within(e: Emission, stmt: ins.Cast, x: TileValue, greatest: float) -> None:
    """The nearest number of a type that ends earlier."""
    made = e.result(stmt.out)
    x = e.tensors(x) if x.constant is not None else x
    with e.filled(made) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(made, at),
            data=e.text(x, at),
            op0="nl.maximum",
            operand0=-greatest,
            op1="nl.minimum",
            operand1=greatest,
        )


def _number(e: Emission, like: TileValue, text: str) -> TileValue:
    return replace(like, constant=text, strides=(0,) * len(like.shape), psum=False)


def _to_integer(e: Emission, stmt: ins.Cast, x: TileValue, there: DType) -> None:
    """Truncated, and kept within the type's range; NaN gives 0."""
    least, most = there.integer_range
    greatest = most - most % (1 << max(there.bits - 24 - there.is_signed, 0))  # that f32 has
    whole = x if stmt.x in e.whole else rounded(e, x, "trunc")
    kept = e.like(x, "kept", F32)
    with e.filled(kept) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(kept, at),
            data=e.text(whole, at),
            op0="nl.maximum",
            operand0=float(least),
            op1="nl.minimum",
            operand1=float(greatest),
        )
    made = e.result(stmt.out)
    copy(e, made, kept)
    if greatest < most:
        put(e, made, str(most), compared(e, whole, "nl.greater", float(greatest)))


def _between_integers(e: Emission, stmt: ins.Cast, x: TileValue, here: DType, there: DType) -> None:
    least, greatest = there.integer_range
    mine = here.integer_range
    if least <= mine[0] and mine[1] <= greatest:
        copy(e, e.result(stmt.out), x)
        return
    wide = widened(e, x, here if here.bits == 32 else I32)
    if not stmt.saturate:
        bits = viewed(e, wide, I32) if there.bits < 32 and wide.dtype != I32 else wide
        found = viewed(e, bits, there) if there.bits == 32 else wrap(e, bits, there)
        e.rename(stmt.out, found)
        return
    low, high = e.like(wide, "low"), e.like(wide, "high")
    bounds = [
        widened(e, _number(e, wide, str(n)), wide.dtype) for n in (max(least, mine[0]), greatest)
    ]
    combine(e, low, "nl.maximum", wide, bounds[0], "nisa.engine.gpsimd")
    combine(e, high, "nl.minimum", low, bounds[1], "nisa.engine.gpsimd")
    if there.bits == 32:
        e.rename(stmt.out, viewed(e, high, there))
    else:
        copy(e, e.result(stmt.out), high)


EMITTERS: dict[type, Emit] = {ins.Cast: cast}
