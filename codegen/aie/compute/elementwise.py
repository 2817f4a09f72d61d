"""Elementwise instructions, chunk by chunk in registers."""

from __future__ import annotations

from collections.abc import Callable

from dslc.codegen.aie.compute.arithmetic import binary, splat, unary
from dslc.codegen.aie.compute.casts import converted
from dslc.codegen.aie.compute.emission import At, Emission, Rule
from dslc.codegen.aie.compute.scalars import scalar
from dslc.codegen.aie.dtypes import code_of, element, is_code
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.dtypes import BF16, F32
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins


def _unary(e: Emission, stmt: ins.Unary, at: At, lanes: int) -> str:
    x = e.pull(stmt.x, at, lanes)
    return unary(e, stmt, stmt.op, x, stmt.x.type.dtype, lanes)


def _binary(e: Emission, stmt: ins.Binary, at: At, lanes: int) -> str:
    x, y = e.pull(stmt.x, at, lanes), e.pull(stmt.y, at, lanes)
    return binary(e, stmt, stmt.op, x, y, stmt.x.type.dtype, lanes)


def _fma(e: Emission, stmt: ins.Fma, at: At, lanes: int) -> str:
    x, y, z = (e.pull(v, at, lanes) for v in (stmt.x, stmt.y, stmt.z))
    dtype = stmt.out.type.dtype
    kind = e.type(dtype, lanes)
    if dtype == F32:
        return e.out.op(f"math.fma {x}, {y}, {z} : {kind}", "fma")
    if dtype != BF16:
        product = binary(e, stmt, "mul", x, y, dtype, lanes)
        return binary(e, stmt, "add", product, z, dtype, lanes)
    wide = vector(lanes, "f32")
    parts = [e.out.op(f"arith.extf {v} : {kind} to {wide}", "wide") for v in (x, y, z)]
    total = e.out.op(f"math.fma {', '.join(parts)} : {wide}", "fma")
    return converted(e, stmt, total, F32, dtype, lanes)


def _where(e: Emission, stmt: ins.Where, at: At, lanes: int) -> str:
    condition, x, y = (e.pull(v, at, lanes) for v in (stmt.condition, stmt.x, stmt.y))
    kind = e.type(stmt.out.type.dtype, lanes)
    chosen = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind
    return e.out.op(f"arith.select {condition}, {x}, {y} : {chosen}", "chosen")


def _cast(e: Emission, stmt: ins.Cast, at: At, lanes: int) -> str:
    x = e.pull(stmt.x, at, lanes)
    source, target = stmt.x.type.dtype, stmt.out.type.dtype
    return converted(e, stmt, x, source, target, lanes, saturate=stmt.saturate)


def _full(e: Emission, stmt: ins.Full, _: At, lanes: int) -> str:
    dtype = stmt.out.type.dtype
    kind = e.type(dtype, lanes)
    if isinstance(stmt.value, ex.Const):
        if is_code(dtype) and not dtype.is_integer:
            return e.out.constant(code_of(float(stmt.value.value), dtype), kind)
        return e.out.constant(float(stmt.value.value), kind)
    one = scalar(e, stmt, stmt.value)
    return splat(e, one, element(dtype), lanes)


def _rule(pull: Callable[..., str], *names: str) -> Rule:
    def operands(stmt: ins.Stmt) -> tuple[Value, ...]:
        return tuple(getattr(stmt, n) for n in names)

    def lanes(e: Emission, stmt: ins.Stmt, count: int) -> bool:
        return all(e.has_lanes(x, count) for x in operands(stmt))

    return Rule(pull, operands, lanes, elementwise=True)


RULES: dict[type, Rule] = {
    ins.Unary: _rule(_unary, "x"),
    ins.Binary: _rule(_binary, "x", "y"),
    ins.Fma: _rule(_fma, "x", "y", "z"),
    ins.Where: _rule(_where, "condition", "x", "y"),
    ins.Cast: _rule(_cast, "x"),
    ins.Full: _rule(_full),
}
