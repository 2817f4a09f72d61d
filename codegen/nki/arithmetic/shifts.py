"""Shifts, and quotients by powers of two, which are shifts as well.

The machine's right shift is logical alone ("Arithmetic Shift Right: Not supported", NKI documentation,
Supported Math Operators). Of signed numbers

- those of at most 16 bits are made positive by half of their range, shifted, and that, shifted as they
  are, is taken off again;
- those of 32 bits are shifted by 8 and more as `((x >> n) ^ m) - m` with m = 2^(31 - n): f32, in which
  the vector engine subtracts, has what is left of them; by less, ones are put where zeros came in;
- by numbers that stand in a tile, `((x ^ s) >> n) ^ s`, s being -1 where x is negative, else 0.
"""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.arithmetic import composed
from dslc.codegen.nki.arithmetic.combining import BITS, combine, step, widened, wrap
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import I32
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins

_RIGHT = BITS["shr"]
_ROUNDS = 8  # bits, from which on f32 has what is left of 32


def shift(e: Emission, stmt: ins.Binary, x: TileValue, y: TileValue) -> None:
    """x << y or x >> y; by less than 0 or more bits than there are leaves 0."""
    if y.constant is not None and not y.constant.lstrip("-").isdigit():
        y = e.tensors(y)  # a loop's counter is a number only when the kernel is traced
    if y.constant is None:
        raw = composed.Steps(e, stmt.out).tile(stmt.x.type.dtype)
        _shifted(e, raw, stmt.op, x, y)
        composed.within_width(e, stmt, raw)
    elif 0 <= int(y.constant) < stmt.x.type.dtype.bits:
        _shifted(e, stmt.out, stmt.op, x, y)
    else:
        e.values[stmt.out] = e.constant(stmt.out, "0")


def by_power_of_two(e: Emission, stmt: ins.Binary, x: TileValue, exponent: int) -> None:
    """x // 2^n or x % 2^n, rounded down: a shift, or the bits that it drops."""
    like = replace(x, strides=(0,) * len(x.shape), psum=False)
    if stmt.op == "floordiv":
        _shifted(e, stmt.out, "shr", x, replace(like, constant=str(exponent)))
    else:
        mask = replace(like, constant=str((1 << exponent) - 1))
        combine(e, e.result(stmt.out), BITS["and"], x, mask)


def power_of_two(held: TileValue) -> int | None:
    """The exponent of a constant power of two."""
    if held.constant is None or not held.constant.isdigit():
        return None
    number = int(held.constant)
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


def _shifted(e: Emission, out: Value, op: str, x: TileValue, y: TileValue) -> None:
    """A shift by less than the width; to the left, what few bits do not hold is cut off."""
    dtype = out.type.dtype
    if op == "shr" and dtype.is_signed:
        shifted = _right_by_tile(e, x, y) if y.constant is None else _right(e, x, int(y.constant))
        e.rename(out, shifted)
    elif op == "shr" or dtype.bits >= 8:
        combine(e, e.result(out), BITS[op], x, y)
    else:
        wide = widened(e, x, I32)
        moved = e.like(wide, "moved")
        combine(e, moved, BITS[op], wide, widened(e, y, I32))
        e.rename(out, wrap(e, moved, dtype))


def _right(e: Emission, x: TileValue, by: int) -> TileValue:
    """Signed numbers shifted to the right by less than their width."""
    x = e.tensors(x) if x.constant is not None else x
    if by == 0:
        return x
    if x.dtype.bits < 32:
        half = 1 << (x.dtype.bits - 1)
        moved = step(e, "moved", x, I32, "nl.add", float(half))
        moved = step(e, "moved", moved, I32, _RIGHT, by)
        return step(e, "moved", moved, x.dtype, "nl.subtract", float(half >> by))
    if by >= _ROUNDS:
        sign = 1 << (31 - by)
        moved = step(e, "moved", x, I32, _RIGHT, by, BITS["xor"], sign)
        return step(e, "moved", moved, I32, "nl.subtract", float(sign))
    moved = step(e, "moved", x, I32, _RIGHT, by)
    ones = step(e, "ones", x, I32, "nl.less", 0.0, "nl.multiply", -(2.0 ** (32 - by)))
    signed = e.like(x, "moved")
    combine(e, signed, BITS["or"], moved, ones)
    return signed


def _right_by_tile(e: Emission, x: TileValue, y: TileValue) -> TileValue:
    """Signed numbers shifted to the right, each by its own."""
    wide = widened(e, x, I32)
    sign = step(e, "sign", wide, I32, "nl.less", 0.0, "nl.multiply", -1.0)
    turned, moved, right = (e.like(wide, n) for n in ("turned", "moved", "moved"))
    combine(e, turned, BITS["xor"], wide, sign)
    combine(e, moved, _RIGHT, turned, widened(e, y, I32))
    combine(e, right, BITS["xor"], moved, sign)
    if x.dtype == I32:
        return right
    narrow = e.like(x, "moved")
    copy(e, narrow, right)
    return narrow
