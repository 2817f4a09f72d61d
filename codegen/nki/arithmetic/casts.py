"""Casts: an engine reads one type and writes another; rounding to whole numbers is said apart."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.arithmetic.bits import viewed
from dslc.codegen.nki.arithmetic.combining import combine, compared, put, step, widened, wrap
from dslc.codegen.nki.arithmetic.eight_bits import round_to
from dslc.codegen.nki.arithmetic.encoding import encode
from dslc.codegen.nki.arithmetic.rounding import rounded
from dslc.codegen.nki.arithmetic.small_floats import decode
from dslc.codegen.nki.dtypes import is_code
from dslc.codegen.nki.emission import Emission, Emit
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue, free_shape
from dslc.compiler.dtypes import BOOL, F32, I32, TF32, DType, limits, rounds_twice
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
    if here.is_integer and here.bits == 32 and rounds_twice(there):
        x = _to_odd(e, widened(e, x, here))
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
    elif there == TF32:
        x = _kept_within(e, e.like(x, "kept", F32), x, there) if stmt.saturate else x
        _to_tf32(e, e.result(stmt.out), x)
    elif stmt.saturate:
        _kept_within(e, e.result(stmt.out), x, there)
    else:
        copy(e, e.result(stmt.out), x)


def _to_odd(e: Emission, x: TileValue) -> TileValue:
    """Integers of 32 bits that f32 has: beyond 2^24 the last 8 bits are in the one before them.

    That is rounding to odd: what f32 is rounded to next is as if the integer itself were.
    """
    last = step(e, "last", x, x.dtype, "nl.bitwise_and", 255)
    some = step(
        e, "some", step(e, "some", last, x.dtype, "nl.add", 255.0), x.dtype, "nl.bitwise_and", 256
    )
    with_last, odd = e.like(x, "odd"), e.like(x, "odd")
    combine(e, with_last, "nl.bitwise_or", x, some)
    cut = step(
        e, "odd", with_last, x.dtype, "nl.bitwise_and", -256 if x.dtype.is_signed else 2**32 - 256
    )
    copy(e, odd, x)
    put(e, odd, cut, compared(e, x, "nl.greater", 2.0**24))
    if x.dtype.is_signed:
        put(e, odd, cut, compared(e, x, "nl.less", -(2.0**24)))
    return odd


def _to_tf32(e: Emission, made: TileValue, x: TileValue) -> None:
    """Rounded to 10 bits of mantissa by way of a tile of that type; tiles of tf32 are held as f32."""
    x = e.tensors(x) if x.constant is not None else x
    extents = free_shape(made.place, made.shape)  # of a part of what is put together, too
    with e.filled(made) as at:
        name = e.out.name("rounded")
        e.out.line(f"{name} = {e.tensor(name, at.rows, extents, 'nl.tfloat32')}")
        e.call("tensor_copy", dst=name, src=e.text(x, at))
        e.call("tensor_copy", dst=e.text(made, at), src=name)


def _kept_within(e: Emission, made: TileValue, x: TileValue, there: DType) -> TileValue:
    """The nearest number of a type that ends earlier."""
    greatest = float(limits(there).greatest)
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
    return made


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
    out = e.result(stmt.out)
    copy(e, out, kept)
    if greatest < most:
        put(e, out, str(most), compared(e, whole, "nl.greater", float(greatest)))


def _between_integers(e: Emission, stmt: ins.Cast, x: TileValue, here: DType, there: DType) -> None:
    least, greatest = there.integer_range
    mine = here.integer_range
    if least <= mine[0] and mine[1] <= greatest:
        copy(e, e.result(stmt.out), x)
        return
    wide = widened(e, x, here if here.bits == 32 else I32)
    if not stmt.saturate:
        bits = viewed(e, wide, I32) if there.bits < 32 and wide.dtype != I32 else wide
        bits_there = viewed(e, bits, there) if there.bits == 32 else wrap(e, bits, there)
        e.rename(stmt.out, bits_there)
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
