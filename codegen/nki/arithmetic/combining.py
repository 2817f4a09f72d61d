"""One instruction of two operands, and what the emitters of operations make of such.

A number, or one number for each partition, is the scalar operand of `tensor_scalar`, at no cost; two
full tiles take `tensor_tensor`. Both round once, from f32 to the result's type.
"""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, F32, DType

BITS = {
    "and": "nl.bitwise_and",
    "or": "nl.bitwise_or",
    "xor": "nl.bitwise_xor",
    "shl": "nl.left_shift",
    "shr": "nl.right_shift",
}


def combine(
    e: Emission, made: TileValue, op: str, x: TileValue, y: TileValue, engine: str | None = None
) -> None:
    """made = x op y on the engines of floats."""
    if x.constant is not None and y.constant is not None:
        x = e.tensors(x)
    if x.psum and y.psum:
        y = e.in_sbuf(y)
    if op not in BITS.values():
        x, y = _column_in_f32(e, x, y), _column_in_f32(e, y, x)
    with e.filled(made) as at:
        dst = e.text(made, at)
        if y.constant is not None or (_is_column(y) and not x.is_row_scalar):
            e.call(
                "tensor_scalar",
                dst=dst,
                data=e.text(x, at),
                op0=op,
                operand0=e.column(y, at),
                engine=engine,
            )
        elif x.constant is not None or (_is_column(x) and not y.is_row_scalar):
            e.call(
                "tensor_scalar",
                dst=dst,
                data=e.text(y, at),
                op0=op,
                operand0=e.column(x, at),
                reverse0="True",
                engine=engine,
            )
        else:
            parts = (e.text(x, at), e.text(y, at))
            e.call("tensor_tensor", dst=dst, data1=parts[0], data2=parts[1], op=op, engine=engine)


def _is_column(held: TileValue) -> bool:
    return held.is_row_scalar and held.dtype == F32


def _column_in_f32(e: Emission, held: TileValue, other: TileValue) -> TileValue:
    """One number a partition in f32, as `tensor_scalar` takes it."""
    if held.constant is not None or not held.is_row_scalar or other.is_row_scalar:
        return held
    if held.dtype == F32:
        return held
    narrow = replace(held, extents=(1,), offset=0, dtype=F32, name=e.out.name(held.name))
    if held.shared:
        at = At(None, 128)
        column = e.column(held, at)
        e.out.line(f"{narrow.name} = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)")
        e.call("tensor_copy", dst=narrow.name, src=column)
        return narrow
    with e.filled(narrow) as at:
        e.call("tensor_copy", dst=e.column(narrow, at), src=e.column(held, at))
    return narrow


def step(
    e: Emission,
    hint: str,
    x: TileValue,
    dtype: DType,
    op: str,
    by: float,
    op1: str | None = None,
    by1: float | None = None,
) -> TileValue:
    """A new tile by one instruction with one or two numbers."""
    out = e.like(x, hint, dtype)
    put_step(e, out, x, op, by, op1, by1)
    return out


def put_step(
    e: Emission,
    made: TileValue,
    x: TileValue,
    op: str,
    by: float,
    op1: str | None = None,
    by1: float | None = None,
) -> None:
    """The same into the tile of a result."""
    with e.filled(made) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(made, at),
            data=e.text(x, at),
            op0=op,
            operand0=repr(by),
            op1=op1,
            operand1=None if by1 is None else repr(by1),
        )


def widened(e: Emission, held: TileValue, dtype: DType) -> TileValue:
    """An integer tile in 32 bits, dense and in SBUF."""
    if held.constant is not None:
        number = e.like(held, "number", dtype)
        with e.filled(number) as at:
            e.call("memset", dst=e.text(number, at), value=held.constant)
        return number
    held = e.in_sbuf(held)
    if held.dtype == dtype:
        return held
    number = e.like(held, held.name, dtype)
    copy(e, number, held)
    return number


def wrap(e: Emission, held: TileValue, dtype: DType) -> TileValue:
    """The lowest bits of 32-bit integers as a narrower type.

    Of a signed type the highest of them is turned over, which adds half of the range, and that is
    taken off again: f32 has the numbers exactly.
    """
    kept, half = (1 << dtype.bits) - 1, 1 << (dtype.bits - 1)
    if not dtype.is_signed:
        lowest = e.like(held, held.name, dtype)
        copy(e, lowest, step(e, held.name, held, held.dtype, "nl.bitwise_and", kept))
        return lowest
    moved = step(e, held.name, held, held.dtype, "nl.bitwise_and", kept, "nl.bitwise_xor", half)
    return step(e, held.name, moved, dtype, "nl.subtract", float(half))


def compared(e: Emission, x: TileValue, op: str, with_: float) -> TileValue:
    """A mask of the elements for which the comparison with a number holds."""
    mask = e.like(x, "mask", BOOL)
    with e.filled(mask) as at:
        e.call(
            "tensor_scalar", dst=e.text(mask, at), data=e.text(x, at), op0=op, operand0=repr(with_)
        )
    return mask


def put(e: Emission, made: TileValue, value: TileValue | str, where: TileValue) -> None:
    """Overwrite a tile, by a number or another tile, where the mask holds."""
    with e.over(made) as at:
        src = value if isinstance(value, str) else e.text(value, at)
        e.call("tensor_copy_predicated", dst=e.text(made, at), src=src, predicate=e.text(where, at))
