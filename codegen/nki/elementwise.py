"""Elementwise instructions: which engine carries out what, and how its operands are given.

A number, or one number for each partition, is the scalar operand of `tensor_scalar`, at no cost; two
full tiles take `tensor_tensor`. Both round once, from f32 to the result's type. Integers of 32 bits are
added and multiplied by GpSimd, exactly: the vector engine would compute in f32.
"""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki import composed
from dslc.codegen.nki.copying import copy, copy_chunk
from dslc.codegen.nki.emission import At, Emission, Emit, refuse
from dslc.codegen.nki.held import Held
from dslc.compiler.dtypes import BOOL, F32, I32, DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins

ALU = {
    "add": "nl.add", "sub": "nl.subtract", "mul": "nl.multiply", "div": "nl.divide",
    "min": "nl.minimum", "max": "nl.maximum", "pow": "nl.power",
    "eq": "nl.equal", "ne": "nl.not_equal", "lt": "nl.less", "le": "nl.less_equal",
    "gt": "nl.greater", "ge": "nl.greater_equal",
}  # fmt: skip
BITS = {
    "and": "nl.bitwise_and", "or": "nl.bitwise_or", "xor": "nl.bitwise_xor",
    "shl": "nl.left_shift", "shr": "nl.right_shift",
}  # fmt: skip
# Divided by a power of two, rounded down: a shift, and the bits that it drops.
_BY_BITS = {"floordiv": "nl.right_shift", "mod": "nl.bitwise_and"}


def binary(e: Emission, stmt: ins.Binary) -> None:
    """out = x op y."""
    x, y, dtype = e.held(stmt.x), e.held(stmt.y), stmt.x.type.dtype
    if stmt.op in BITS:
        _bits(e, stmt, x, y)
    elif stmt.op in _BY_BITS and dtype.is_integer and (bits := _power_of_two(y)) is not None:
        by = bits if stmt.op == "floordiv" else (1 << bits) - 1
        combine(e, e.result(stmt.out), _BY_BITS[stmt.op], x, replace(y, constant=str(by)))
    elif stmt.op in _BY_BITS and dtype.is_integer:
        _divided(e, stmt, x, y)
    elif stmt.op in _BY_BITS:
        composed.float_quotient(e, stmt)
    elif dtype.is_integer and stmt.op == "pow":
        composed.integer_power(e, stmt)
    elif dtype.is_integer and stmt.op in ALU:
        _integers(e, stmt, x, y)
    elif stmt.op in ALU:
        made = e.result(stmt.out)
        combine(e, made, ALU[stmt.op], x, y)
    else:
        raise refuse(stmt, f"{stmt.op} of {dtype} has no instruction on a NeuronCore")


def _divided(e: Emission, stmt: ins.Binary, x: Held, y: Held) -> None:
    """A quotient or remainder of integers: by 0 it is 0."""
    from dslc.codegen.nki.division import divide

    if y.constant is None:
        raw = composed.Steps(e, stmt.out).tile(stmt.out.type.dtype)
        divide(e, replace(stmt, out=raw), x, y)
        composed.unless_zero(e, stmt, raw)
    elif y.is_zero:
        e.values[stmt.out] = e.constant(stmt.out, "0")
    else:
        divide(e, stmt, x, y)


def _power_of_two(held: Held) -> int | None:
    """The exponent of a constant power of two."""
    if held.constant is None or not held.constant.isdigit():
        return None
    number = int(held.constant)
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


def combine(e: Emission, made: Held, op: str, x: Held, y: Held, engine: str | None = None) -> None:
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
                "tensor_scalar", dst=dst, data=e.text(x, at), op0=op, operand0=e.column(y, at),
                engine=engine,
            )  # fmt: skip
        elif x.constant is not None or (_is_column(x) and not y.is_row_scalar):
            e.call(
                "tensor_scalar", dst=dst, data=e.text(y, at), op0=op, operand0=e.column(x, at),
                reverse0="True", engine=engine,
            )  # fmt: skip
        else:
            parts = (e.text(x, at), e.text(y, at))
            e.call("tensor_tensor", dst=dst, data1=parts[0], data2=parts[1], op=op, engine=engine)


def _is_column(held: Held) -> bool:
    return held.is_row_scalar and held.dtype == F32


def _column_in_f32(e: Emission, held: Held, other: Held) -> Held:
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


def _bits(e: Emission, stmt: ins.Binary, x: Held, y: Held) -> None:
    """Bit patterns, as they are; a shift by more than there are leaves 0."""
    if stmt.op not in ("shl", "shr"):
        combine(e, e.result(stmt.out), BITS[stmt.op], x, y)
    elif y.constant is None:
        raw = composed.Steps(e, stmt.out).tile(stmt.x.type.dtype)
        _shift(e, raw, stmt.op, x, y)
        composed.within_width(e, stmt, raw)
    elif 0 <= int(y.constant) < stmt.x.type.dtype.bits:
        _shift(e, stmt.out, stmt.op, x, y)
    else:
        e.values[stmt.out] = e.constant(stmt.out, "0")


def _shift(e: Emission, out: Value, op: str, x: Held, y: Held) -> None:
    """A shift; of few bits those that it moves out are cut off."""
    if op == "shr" or out.type.dtype.bits >= 8:
        combine(e, e.result(out), BITS[op], x, y)
        return
    wide = widened(e, x, I32)
    moved = e.like(wide, "moved")
    combine(e, moved, BITS[op], wide, widened(e, y, I32))
    e.rename(out, wrap(e, moved, out.type.dtype))


def _integers(e: Emission, stmt: ins.Binary, x: Held, y: Held) -> None:
    """Integer arithmetic in 32 bits, brought back to the type of the result by wrapping."""
    dtype = stmt.x.type.dtype
    wide = dtype if dtype.bits == 32 else I32
    a, b = widened(e, x, wide), widened(e, y, wide)
    comparison = stmt.out.type.dtype == BOOL
    exact = e.like(a, stmt.out.name, wide)
    with e.filled(exact) as at:
        e.call(
            "tensor_tensor", dst=e.text(exact, at), data1=e.text(a, at), data2=e.text(b, at),
            op=ALU[stmt.op], engine="nisa.engine.gpsimd",
        )  # fmt: skip
    if comparison:
        made = e.result(stmt.out)
        copy(e, made, exact)
    elif wide == dtype:
        e.rename(stmt.out, exact)
    else:
        wrapped = wrap(e, exact, stmt.out.type.dtype)
        e.rename(stmt.out, wrapped)


def widened(e: Emission, held: Held, dtype: DType) -> Held:
    """An integer tile in 32 bits, dense and in SBUF."""
    if held.constant is not None:
        made = e.like(held, "number", dtype)
        with e.filled(made) as at:
            e.call("memset", dst=e.text(made, at), value=held.constant)
        return made
    held = e.in_sbuf(held)
    if held.dtype == dtype:
        return held
    made = e.like(held, held.name, dtype)
    copy(e, made, held)
    return made


def wrap(e: Emission, held: Held, dtype: DType) -> Held:
    """The lowest bits of 32-bit integers as a narrower type."""
    shift = 32 - dtype.bits
    cut = e.like(held, held.name)
    with e.filled(cut) as at:
        if dtype.is_signed:  # the sign moves down with the bits
            steps = {"op0": "nl.left_shift", "operand0": shift}
            steps |= {"op1": "nl.right_shift", "operand1": shift}
        else:
            steps = {"op0": "nl.bitwise_and", "operand0": (1 << dtype.bits) - 1}
        e.call("tensor_scalar", dst=e.text(cut, at), data=e.text(held, at), **steps)
    made = e.like(held, held.name, dtype)
    copy(e, made, cut)
    return made


def fma(e: Emission, stmt: ins.Fma) -> None:
    """x * y + z; the product is kept in f32."""
    if stmt.out.type.dtype.is_integer:
        composed.integer_fma(e, stmt)
        return
    x, y, z = (e.held(v) for v in (stmt.x, stmt.y, stmt.z))
    product = e.tile("product", F32, stmt.out.type.shape, e.place(stmt.out))
    combine(e, product, "nl.multiply", x, y)
    combine(e, e.result(stmt.out), "nl.add", product, z)


def where(e: Emission, stmt: ins.Where) -> None:
    """y, with x copied over it where the condition holds."""
    condition = e.in_sbuf(e.held(stmt.condition))
    x, y = e.in_sbuf(e.held(stmt.x)), e.held(stmt.y)
    if condition.constant is not None:
        condition = e.tensors(condition)
    made = e.result(stmt.out)
    with e.filled(made) as at:
        copy_chunk(e, made, y, at)
        source = x.constant if x.constant is not None else e.text(x, at)
        e.call(
            "tensor_copy_predicated", dst=e.text(made, at), src=source,
            predicate=e.text(condition, at),
        )  # fmt: skip


def compared(e: Emission, x: Held, op: str, with_: float) -> Held:
    """A mask of the elements for which the comparison with a number holds."""
    made = e.like(x, "mask", BOOL)
    with e.filled(made) as at:
        e.call(
            "tensor_scalar", dst=e.text(made, at), data=e.text(x, at), op0=op, operand0=repr(with_)
        )
    return made


def put(e: Emission, made: Held, value: Held | str, where: Held) -> None:
    """Overwrite a tile, by a number or another tile, where the mask holds."""
    with e.over(made) as at:
        src = value if isinstance(value, str) else e.text(value, at)
        e.call("tensor_copy_predicated", dst=e.text(made, at), src=src, predicate=e.text(where, at))


def full(e: Emission, stmt: ins.Full) -> None:
    """A number in place of a tile, or one that the machine knows on every partition."""
    from dslc.codegen.nki.late import late_tile

    if e.is_late(stmt.value):
        e.values[stmt.out] = late_tile(e, stmt.value, stmt.out)
        return
    text = e.scalar(stmt.value)
    if stmt.out.type.dtype.kind is Kind.BOOL:
        text = text.replace("True", "1").replace("False", "0")
    e.values[stmt.out] = e.constant(stmt.out, text)


def undefined(e: Emission, stmt: ins.Undefined) -> None:
    """Any number will do."""
    e.values[stmt.out] = e.constant(stmt.out, "0")


def arange(e: Emission, stmt: ins.Arange) -> None:
    """0, 1, 2, ...: along the partitions by the multiplier of the channel."""
    made = e.result(stmt.out)
    run = made.place.run if made.place.axis is not None else made.shape[0]
    steps = run if made.place.axis is not None else 0
    with e.filled(made) as at:
        offset = f"128 * {e.names[at.index]}" if at.index is not None else 0
        e.call(
            "iota", dst=e.text(made, at), pattern=f"[[1, {run}]]", offset=offset,
            channel_multiplier=steps,
        )  # fmt: skip


EMITTERS: dict[type, Emit] = {
    ins.Binary: binary,
    ins.Fma: fma,
    ins.Where: where,
    ins.Full: full,
    ins.Undefined: undefined,
    ins.Arange: arange,
}
