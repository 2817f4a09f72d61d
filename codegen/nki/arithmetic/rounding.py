"""Rounding to whole numbers, which no engine has: by sums with 2^23, from where on f32 is whole."""

from __future__ import annotations

from dslc.codegen.nki.arithmetic.combining import combine
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.copying import copy_chunk
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, F32

_WHOLE = 8388608.0  # 2^23: every f32 from here on is whole


def rounded(e: Emission, x: TileValue, op: str) -> TileValue:
    """round (half to even), floor, ceil or trunc of a float tile, as f32; NaN and infinities stay."""
    x = e.tensors(x)
    size, near, sign = (e.like(x, n, F32) for n in ("size", "near", "sign"))
    with e.filled(size) as at:
        e.call("activation", dst=e.text(size, at), op="nl.abs", data=e.text(x, at))
    with e.filled(near) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(near, at),
            data=e.text(size, at),
            op0="nl.add",
            operand0=_WHOLE,
            op1="nl.subtract",
            operand1=_WHOLE,
        )
    with e.filled(sign) as at:
        e.call("activation", dst=e.text(sign, at), op="nl.sign", data=e.text(x, at))
    if op == "trunc":
        near = _corrected(e, near, size, "nl.greater", "nl.subtract")
    signed = e.like(x, "whole", F32)
    combine(e, signed, "nl.multiply", near, sign)
    if op == "floor":
        signed = _corrected(e, signed, x, "nl.greater", "nl.subtract")
    if op == "ceil":
        signed = _corrected(e, signed, x, "nl.less", "nl.add")
    small = e.like(x, "small", BOOL)
    with e.filled(small) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(small, at),
            data=e.text(size, at),
            op0="nl.less",
            operand0=_WHOLE,
        )
    whole = e.like(x, op, F32)
    with e.filled(whole) as at:
        copy_chunk(e, whole, x, at)
        e.call(
            "tensor_copy_predicated",
            dst=e.text(whole, at),
            src=e.text(signed, at),
            predicate=e.text(small, at),
        )
    return whole


def _corrected(e: Emission, near: TileValue, x: TileValue, beyond: str, back: str) -> TileValue:
    """`near`, one back where it lies beyond x."""
    over, corrected = e.like(near, "over"), e.like(near, "near")
    combine(e, over, beyond, near, x)
    combine(e, corrected, back, near, over)
    return corrected
