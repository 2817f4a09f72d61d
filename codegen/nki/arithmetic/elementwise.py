"""Elementwise instructions: which engine carries out what, and how its operands are given.

Integers of 32 bits are added and multiplied by GpSimd, exactly: the vector engine would compute in f32.
"""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.arithmetic import composed
from dslc.codegen.nki.arithmetic.combining import BITS, combine, widened, wrap
from dslc.codegen.nki.arithmetic.division import divide
from dslc.codegen.nki.arithmetic.reciprocals import power, quotient
from dslc.codegen.nki.arithmetic.shifts import by_power_of_two, power_of_two, shift
from dslc.codegen.nki.dtypes import code_text, is_code
from dslc.codegen.nki.emission import Emission, Emit, refuse
from dslc.codegen.nki.movement.copying import copy, copy_chunk
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, F32, I32, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

ALU = {
    "add": "nl.add", "sub": "nl.subtract", "mul": "nl.multiply",
    "min": "nl.minimum", "max": "nl.maximum",
    "eq": "nl.equal", "ne": "nl.not_equal", "lt": "nl.less", "le": "nl.less_equal",
    "gt": "nl.greater", "ge": "nl.greater_equal",
}  # fmt: skip


def binary(e: Emission, stmt: ins.Binary) -> None:
    """out = x op y."""
    x, y, dtype = e.held(stmt.x), e.held(stmt.y), stmt.x.type.dtype
    if stmt.op in ("shl", "shr"):
        shift(e, stmt, x, y)
    elif stmt.op in BITS:
        combine(e, e.result(stmt.out), BITS[stmt.op], x, y)
    elif stmt.op in ("floordiv", "mod"):
        if not dtype.is_integer:
            composed.float_quotient(e, stmt)
        elif (exponent := power_of_two(y)) is not None:
            by_power_of_two(e, stmt, x, exponent)
        else:
            _divided(e, stmt, x, y)
    elif dtype.is_integer and stmt.op == "pow":
        composed.integer_power(e, stmt)
    elif stmt.op == "pow":
        power(e, e.result(stmt.out), x, y)
    elif stmt.op == "div" and dtype.is_float:
        quotient(e, e.result(stmt.out), x, y)
    elif dtype.is_integer and stmt.op in ALU:
        _integers(e, stmt, x, y)
    elif stmt.op in ALU:
        out = e.result(stmt.out)
        combine(e, out, ALU[stmt.op], x, y)
    else:
        raise refuse(stmt, f"{stmt.op} of {dtype} has no instruction on a NeuronCore")


def _divided(e: Emission, stmt: ins.Binary, x: TileValue, y: TileValue) -> None:
    """A quotient or remainder of integers: by 0 it is 0."""
    if y.constant is None:
        raw = composed.Steps(e, stmt.out).tile(stmt.out.type.dtype)
        divide(e, replace(stmt, out=raw), x, y)
        composed.unless_zero(e, stmt, raw)
    elif y.is_zero:
        e.values[stmt.out] = e.constant(stmt.out, "0")
    else:
        divide(e, stmt, x, y)


def _integers(e: Emission, stmt: ins.Binary, x: TileValue, y: TileValue) -> None:
    """Integer arithmetic in 32 bits, brought back to the type of the result by wrapping."""
    dtype = stmt.x.type.dtype
    wide = dtype if dtype.bits == 32 else I32
    a, b = widened(e, x, wide), widened(e, y, wide)
    comparison = stmt.out.type.dtype == BOOL
    exact = e.like(a, stmt.out.name, wide)
    with e.filled(exact) as at:
        e.call(
            "tensor_tensor",
            dst=e.text(exact, at),
            data1=e.text(a, at),
            data2=e.text(b, at),
            op=ALU[stmt.op],
            engine="nisa.engine.gpsimd",
        )
    if comparison:
        out = e.result(stmt.out)
        copy(e, out, exact)
    elif wide == dtype:
        e.rename(stmt.out, exact)
    else:
        wrapped = wrap(e, exact, stmt.out.type.dtype)
        e.rename(stmt.out, wrapped)


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
    out = e.result(stmt.out)
    with e.filled(out) as at:
        copy_chunk(e, out, y, at)
        source = x.constant if x.constant is not None else e.text(x, at)
        e.call(
            "tensor_copy_predicated",
            dst=e.text(out, at),
            src=source,
            predicate=e.text(condition, at),
        )


def full(e: Emission, stmt: ins.Full) -> None:
    """A number in place of a tile, or one that the machine knows on every partition."""
    from dslc.codegen.nki.arithmetic.dynamic_scalars import dynamic_tile

    if e.is_dynamic(stmt.value):
        e.values[stmt.out] = dynamic_tile(e, stmt.value, stmt.out)
        return
    dtype = stmt.out.type.dtype
    if is_code(dtype) and isinstance(stmt.value, ex.Const):
        e.values[stmt.out] = e.constant(stmt.out, code_text(stmt.value.value, dtype))
        return
    if is_code(dtype):
        like = stmt.out
        number = Value(replace(like.type, dtype=F32), like.name)
        e.statement(ins.Full(number, ex.Convert(stmt.value, F32), loc=stmt.loc))
        e.statement(ins.Cast(stmt.out, number, loc=stmt.loc))
        return
    text = e.element(stmt.value)
    if dtype.kind is Kind.BOOL:
        text = text.replace("True", "1").replace("False", "0")
    e.values[stmt.out] = e.constant(stmt.out, text)


def undefined(e: Emission, stmt: ins.Undefined) -> None:
    """Any number will do."""
    e.values[stmt.out] = e.constant(stmt.out, "0")


def arange(e: Emission, stmt: ins.Arange) -> None:
    """0, 1, 2, ...: along the partitions by the multiplier of the channel."""
    out = e.result(stmt.out)
    run = out.place.run if out.place.axis is not None else out.shape[0]
    steps = run if out.place.axis is not None else 0
    with e.filled(out) as at:
        offset = f"128 * {e.names[at.index]}" if at.index is not None else 0
        e.call(
            "iota",
            dst=e.text(out, at),
            pattern=f"[[1, {run}]]",
            offset=offset,
            channel_multiplier=steps,
        )


EMITTERS: dict[type, Emit] = {
    ins.Binary: binary,
    ins.Fma: fma,
    ins.Where: where,
    ins.Full: full,
    ins.Undefined: undefined,
    ins.Arange: arange,
}
