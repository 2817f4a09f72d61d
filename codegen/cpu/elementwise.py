"""Elementwise operations, shapes and constants on chunks.

Nothing is moved for a shape: a chunk of a transposed or sliced tile is a chunk of what it was made of,
at other coordinates. Where lanes of a reshaped or repeated tile come from unrelated places, each is
pulled by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.remapping import repeated, reshaped, sliced, stretched, transposed
from dslc.codegen.cpu import words
from dslc.codegen.cpu.places import Live, typed
from dslc.codegen.cpu.scalars import binary as binary_of
from dslc.codegen.cpu.scalars import unary as unary_of
from dslc.compiler.dtypes import I32
from dslc.compiler.ir import Value
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


def transpose(e: Emission, i: ins.Transpose, at: At) -> Operand:
    """out's axis k is x's axis axes[k]."""
    return e.pull(i.x, transposed(at, i.axes))


def broadcast(e: Emission, i: ins.Broadcast, at: At) -> Operand:
    """A chunk along a stretched axis is one element of x."""
    return spread(e, i.x, stretched(at, i.x.type.shape))


def spread(e: Emission, x: Value, at: At) -> Operand:
    """A chunk whose lanes may all be one element, which is computed once then."""
    if at.count > 1 and len(set(at.lanes)) == 1:
        return splat(e, e.pull(x, At(at.base, at.lanes[:1])), at.count)
    return e.pull(x, at)


def extract(e: Emission, i: ins.Extract, at: At) -> Operand:
    """starts + steps * coordinate, dropped axes put back."""
    return e.pull(i.x, sliced(at, i))


def reshape(e: Emission, i: ins.Reshape, at: At) -> Operand:
    """The row-major number of an element, divided by x's strides."""
    shape, source = i.out.type.shape, i.x.type.shape
    mapped = reshaped(at, shape, source)
    if mapped is not None:
        return spread(e, i.x, mapped)
    singles = [reshaped(one, shape, source) for one in singly(e, at)]
    return one_by_one(e, i.x, [found for found in singles if found is not None])


def repeat(e: Emission, i: ins.Repeat, at: At) -> Operand:
    """Coordinate // times along the axis."""
    axis, size = i.axis % i.x.type.rank, i.x.type.shape[i.axis]
    mapped = repeated(at, axis, i.times, size)
    if mapped is not None:
        return spread(e, i.x, mapped)
    singles = [repeated(one, axis, i.times, size) for one in singly(e, at)]
    return one_by_one(e, i.x, [found for found in singles if found is not None])


def singly(e: Emission, at: At) -> list[At]:
    """The lanes of a chunk, each a chunk of its own that counts where the lane does."""
    found = []
    for k, lane in enumerate(at.lanes):
        live = at.live
        if isinstance(live, Live):
            live = Live(e.b.extract(live.mask, k), e.level)
        found.append(At(at.base, (lane,), live))
    return found


def one_by_one(e: Emission, value: Value, ats: list[At]) -> Operand:
    """Lanes that come from unrelated places, each pulled by itself."""
    out = e.b.operand(0, typed(value.type.dtype, len(ats)))
    for k, at in enumerate(ats):
        out = e.b.insert(out, e.pull(value, at), k)
    return out


def same(e: Emission, i: ins.ConvertLayout, at: At) -> Operand:
    """One thread holds every element: its layout is an order, which a chunk does not see."""
    return e.pull(i.x, at)


PULLS = {
    ins.Unary: unary,
    ins.Binary: binary,
    ins.Fma: fma,
    ins.Where: where,
    ins.Cast: cast,
    ins.Full: full,
    ins.Arange: arange,
    ins.Undefined: undefined,
    ins.Transpose: transpose,
    ins.Broadcast: broadcast,
    ins.Extract: extract,
    ins.Reshape: reshape,
    ins.Repeat: repeat,
    ins.ConvertLayout: same,
}
