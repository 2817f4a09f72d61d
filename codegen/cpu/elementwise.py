"""Elementwise operations and constants on chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At
from dslc.codegen.cpu import words
from dslc.codegen.cpu.places import typed
from dslc.codegen.cpu.scalars import binary as binary_of
from dslc.codegen.cpu.scalars import unary as unary_of
from dslc.compiler.dtypes import I32
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission


def unary(e: Emission, i: ins.Unary, at: At) -> Operand:
    """One operand."""
    return unary_of(e, i.op, e.pull(i.x, at), i.x.type.dtype)


def binary(e: Emission, i: ins.Binary, at: At) -> Operand:
    """Two operands of one dtype."""
    product = e.plan.fused.get(i.out)
    if product is not None:
        other = i.y if product.out is i.x else i.x
        return e.b.fma(e.pull(product.x, at), e.pull(product.y, at), e.pull(other, at))
    if e.terms and i.op == "mul":
        for code, scale in ((i.x, i.y), (i.y, i.x)):
            found = words.scaled(e, code, scale, at)
            if found is not None:
                return found
    return binary_of(e, i.op, e.pull(i.x, at), e.pull(i.y, at), i.x.type.dtype)


def fma(e: Emission, i: ins.Fma, at: At) -> Operand:
    """x * y + z, rounded once."""
    return e.b.fma(e.pull(i.x, at), e.pull(i.y, at), e.pull(i.z, at))


def where(e: Emission, i: ins.Where, at: At) -> Operand:
    """x where the mask holds, else y."""
    return e.b.select(e.pull(i.condition, at), e.pull(i.x, at), e.pull(i.y, at))


def cast(e: Emission, i: ins.Cast, at: At) -> Operand:
    """Another dtype."""
    number = words.number(e, i, at)
    if number is not None:
        return number
    return e.b.convert(e.pull(i.x, at), i.out.type.dtype, saturate=i.saturate)


def splat(e: Emission, x: Operand, count: int) -> Operand:
    """A scalar in every lane of a chunk."""
    return x if count == 1 else e.b.broadcast(x, count)


def full(e: Emission, i: ins.Full, at: At) -> Operand:
    """One number in every lane."""
    return splat(e, e.scalar(i.value), at.count)


def arange(e: Emission, i: ins.Arange, at: At) -> Operand:
    """0, 1, 2, ..."""
    return indices(e, at.base[0], tuple(lane[0] for lane in at.lanes))


def indices(e: Emission, base: Linear, distances: tuple[int, ...]) -> Operand:
    """base + distance in each lane, as i32."""
    fixed = base.constant
    if len(distances) == 1:
        return e.b.convert(e.sum(base + Linear(constant=distances[0])), I32)
    known = lanes_of([d + fixed for d in distances], I32)
    if base.is_constant:
        return known
    start = e.b.convert(e.sum(base + Linear(constant=-fixed)), I32)
    return e.b.add(splat(e, start, len(distances)), known)


def undefined(e: Emission, i: ins.Undefined, at: At) -> Operand:
    """Any number will do."""
    return e.b.operand(0, typed(i.out.type.dtype, at.count))


PULLS = {
    ins.Unary: unary,
    ins.Binary: binary,
    ins.Fma: fma,
    ins.Where: where,
    ins.Cast: cast,
    ins.Full: full,
    ins.Arange: arange,
    ins.Undefined: undefined,
}
