"""Scalars that the machine alone knows: one number on every partition, computed like a tile."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import I32, DType, Kind
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.placement import EVERYWHERE, layout_of


def dynamic_tile(e: Emission, expr: ex.Expr, like: Value) -> TileValue:
    """A tile all of whose elements are a dynamic scalar: that scalar under strides of 0."""
    scalar = e.held(dynamic_scalar(e, expr))
    shape, place = like.type.shape, e.place(like)
    return replace(scalar, shape=shape, place=place, strides=(0,) * len(shape), shared=True)


def dynamic_scalar(e: Emission, expr: ex.Expr) -> Value:
    """The tile of rank 0 that holds the scalar on every partition."""
    if isinstance(expr, ex.Read):
        return expr.value
    if isinstance(expr, ex.Var) and expr in e.counters:
        return e.counters[expr]
    if isinstance(expr, ex.Var) and expr in e.dynamic_values:
        return dynamic_scalar(e, e.dynamic_values[expr])
    out = _scalar(expr.dtype)
    if not e.is_dynamic(expr):
        e.statement(ins.Full(out, expr))
        return out
    match expr:
        case ex.Unary(op=op, x=x):
            e.statement(ins.Unary(out, op, dynamic_scalar(e, x)))
        case ex.Binary(op=op, x=x, y=y):
            e.statement(ins.Binary(out, op, dynamic_scalar(e, x), dynamic_scalar(e, y)))
        case ex.Convert(x=x, saturate=saturate):
            inner = dynamic_scalar(e, x)
            if inner.type.dtype == out.type.dtype:
                return inner
            e.statement(ins.Cast(out, inner, saturate))
        case ex.Select(condition=c, x=x, y=y):
            parts = [dynamic_scalar(e, p) for p in (c, x, y)]
            e.statement(ins.Where(out, parts[0], parts[1], parts[2]))
        case _:
            raise AssertionError(expr)
    return out


def _scalar(dtype: DType) -> Value:
    held = I32 if dtype.kind is Kind.INDEX else dtype
    return Value(TileType(held, (), layout_of(EVERYWHERE, ())), "scalar")


def register(e: Emission, expr: ex.Expr, hint: str) -> str:
    """A dynamic scalar in a register, for the bounds of a loop."""
    held = e.tensors(e.held(dynamic_scalar(e, expr)))
    name = e.out.name(hint)
    e.out.line(f"{name} = nisa.register_alloc()")
    e.out.line(f"nisa.register_load({name}, {held.name}[0:1, 0:1])")
    return name
