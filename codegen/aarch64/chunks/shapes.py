"""Tiles that say where their elements come from, and constants: nothing is moved for them.

A chunk of a transposed, sliced, broadcast, reshaped or repeated tile is a chunk of what it was made of,
at other coordinates. Where lanes of a reshaped or repeated tile come from unrelated places, each is
pulled by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from dslc.codegen.aarch64.chunks import floats
from dslc.codegen.aarch64.chunks.formats import F16, SIGNED, Lanes, computed
from dslc.codegen.aarch64.memory.transfer import gather_register, splat_general
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.remapping import repeated, reshaped, sliced, stretched, transposed
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, to_expr

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def full(e: Emission, i: ins.Full, at: At) -> Lanes:
    """One number in every lane."""
    dtype, known = i.out.type.dtype, constant(i.value)
    if dtype.name == "f16" and "fp16" in e.features and known is not None:
        half = e.s.literal(np.float16(known).tobytes() * 8)
        return Lanes((half,) * -(-at.count // 8), F16, at.count)
    if dtype.is_float:
        return floats.scalar(e, i.value, at.count)
    form = computed(dtype)
    if known is not None:
        value = -int(bool(known)) if dtype.kind is Kind.BOOL else int(known)
        reg = e.s.splat(value, form.bits)
        return Lanes((reg,) * -(-at.count // form.lanes), form, at.count)
    if dtype.kind is Kind.BOOL:
        return floats.mask_of(e, e.integer(i.value), form.bits, at.count)
    return splat_general(e, e.integer(i.value), form, at.count)


def arange(e: Emission, i: ins.Arange, at: At) -> Lanes:
    """0, 1, 2, ..."""
    return indices(e, at.base[0], tuple(lane[0] for lane in at.lanes))


def indices(e: Emission, base: Linear, distances: tuple[int, ...]) -> Lanes:
    """base + distance in each lane, as i32."""
    form, fixed = SIGNED[32], base.constant
    offsets = []
    for k in range(0, len(distances), 4):
        part = [d + fixed for d in distances[k : k + 4]]
        part += [part[-1]] * (4 - len(part))
        offsets.append(b"".join((d & 0xFFFFFFFF).to_bytes(4, "little") for d in part))
    known = Lanes(tuple(e.s.literal(o) for o in offsets), form, len(distances))
    if base.is_constant:
        return known
    variable = e.integer(to_expr(base + Linear(constant=-fixed)))
    start = splat_general(e, variable, form, len(distances))
    pairs = zip(start.regs, known.regs, strict=True)
    regs = tuple(e.s.v("add {0}.4s, {1}.4s, {2}.4s", a, b) for a, b in pairs)
    return Lanes(regs, form, len(distances))


def transpose(e: Emission, i: ins.Transpose, at: At) -> Lanes:
    """out's axis k is x's axis axes[k]."""
    return e.pull(i.x, transposed(at, i.axes))


def broadcast(e: Emission, i: ins.Broadcast, at: At) -> Lanes:
    """Axes of size 1 and those that x has not are not looked at."""
    return e.pull(i.x, stretched(at, i.x.type.shape))


def extract(e: Emission, i: ins.Extract, at: At) -> Lanes:
    """starts + steps * coordinate, dropped axes put back."""
    return e.pull(i.x, sliced(at, i))


def reshape(e: Emission, i: ins.Reshape, at: At) -> Lanes:
    """The row-major number of an element, divided by x's strides."""
    shape, source = i.out.type.shape, i.x.type.shape
    mapped = reshaped(at, shape, source)
    if mapped is not None:
        return e.pull(i.x, mapped)
    singles = [reshaped(At(at.base, (lane,)), shape, source) for lane in at.lanes]
    return _one_by_one(e, i.x, [found for found in singles if found is not None])


def _one_by_one(e: Emission, value: Value, ats: list[At]) -> Lanes:
    """Lanes that come from unrelated places, each pulled by itself."""
    singles = [e.pull(value, at) for at in ats]
    form = singles[0].format
    wanted = [(x.regs[0], 0) for x in singles]
    regs = tuple(
        gather_register(e, form, wanted[k : k + form.lanes])
        for k in range(0, len(wanted), form.lanes)
    )
    return Lanes(regs, form, len(ats))


def repeat(e: Emission, i: ins.Repeat, at: At) -> Lanes:
    """Coordinate // times along the axis."""
    axis, size = i.axis % i.x.type.rank, i.x.type.shape[i.axis]
    mapped = repeated(at, axis, i.times, size)
    if mapped is not None:
        return e.pull(i.x, mapped)
    singles = [repeated(At(at.base, (lane,)), axis, i.times, size) for lane in at.lanes]
    return _one_by_one(e, i.x, [found for found in singles if found is not None])


def same(e: Emission, i: ins.ConvertLayout, at: At) -> Lanes:
    """One thread holds every element: its layout is an order, which a chunk does not see."""
    return e.pull(i.x, at)


PULLS = {
    ins.Full: full,
    ins.Arange: arange,
    ins.Transpose: transpose,
    ins.Broadcast: broadcast,
    ins.Extract: extract,
    ins.Reshape: reshape,
    ins.Repeat: repeat,
    ins.ConvertLayout: same,
}
