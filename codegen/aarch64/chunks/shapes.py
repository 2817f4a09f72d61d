"""Tiles that say where their elements come from, and constants: nothing is moved for them.

A chunk of a transposed, sliced, broadcast, reshaped or repeated tile is a chunk of what it was made of,
at other coordinates. Where lanes of a reshaped or repeated tile come from unrelated places, each is
pulled by itself.
"""

from __future__ import annotations

from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np
from dslc.codegen.aarch64.chunks import floats
from dslc.codegen.aarch64.chunks.formats import F16, SIGNED, Lanes, computed
from dslc.codegen.aarch64.memory.transfer import gather_register, splat_general
from dslc.codegen.aarch64.places import At
from dslc.compiler.analysis.axis_extents import matching_axes
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, to_expr

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission
    from dslc.codegen.aarch64.places import At

Lane = tuple[int, ...]


def _at(base: tuple[Linear, ...], lanes: tuple[Lane, ...]) -> At:
    return At(base, lanes)


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
    order = sorted(range(len(i.axes)), key=lambda k: i.axes[k])
    base = tuple(at.base[k] for k in order)
    return e.pull(i.x, _at(base, tuple(tuple(lane[k] for k in order) for lane in at.lanes)))


def broadcast(e: Emission, i: ins.Broadcast, at: At) -> Lanes:
    """Axes of size 1 and those that x has not are not looked at."""
    shape = i.x.type.shape
    skip = len(at.base) - len(shape)
    keep = [n > 1 for n in shape]
    base = tuple(b if k else Linear() for b, k in zip(at.base[skip:], keep, strict=True))
    lanes = tuple(
        tuple(d if k else 0 for d, k in zip(lane[skip:], keep, strict=True)) for lane in at.lanes
    )
    return e.pull(i.x, _at(base, lanes))


def extract(e: Emission, i: ins.Extract, at: At) -> Lanes:
    """starts + steps * coordinate, dropped axes put back."""
    base, lanes = list(at.base), [list(lane) for lane in at.lanes]
    for axis in i.dropped:
        base.insert(axis, Linear())
        for lane in lanes:
            lane.insert(axis, 0)
    moved = tuple(
        b.scale(step) + Linear(constant=start)
        for b, start, step in zip(base, i.starts, i.steps, strict=True)
    )
    scaled = tuple(tuple(d * s for d, s in zip(lane, i.steps, strict=True)) for lane in lanes)
    return e.pull(i.x, _at(moved, scaled))


def reshape(e: Emission, i: ins.Reshape, at: At) -> Lanes:
    """The row-major number of an element, divided by x's strides."""
    shape, source = i.out.type.shape, i.x.type.shape
    mapped = reshaped(at, shape, source)
    if mapped is not None:
        return e.pull(i.x, mapped)
    singles = [reshaped(_at(at.base, (lane,)), shape, source) for lane in at.lanes]
    return _one_by_one(e, i.x, [found for found in singles if found is not None])


def reshaped(at: At, shape: tuple[int, ...], source: tuple[int, ...]) -> At | None:
    """The same elements in a tile of another shape; None where lanes would part in a quotient."""
    base: list[Linear] = []
    lanes: list[list[int]] = [[] for _ in at.lanes]
    for mine, theirs in matching_axes(shape, source):
        number, offsets = Linear(), [0] * at.count
        for axis in mine:
            number = number.scale(shape[axis]) + at.base[axis]
            offsets = [
                o * shape[axis] + lane[axis] for o, lane in zip(offsets, at.lanes, strict=True)
            ]
        if at.count == 1:
            number, offsets = number + Linear(constant=offsets[0]), [0]
        rest = prod(source[a] for a in theirs)
        for axis in theirs:
            rest //= source[axis]
            split = _quotient(number, offsets, rest)
            if split is None:
                return None
            whole, distances, number, offsets = split
            base.append(whole)
            for lane, d in zip(lanes, distances, strict=True):
                lane.append(d)
    return _at(tuple(base), tuple(tuple(lane) for lane in lanes))


def _quotient(
    number: Linear, offsets: list[int], by: int
) -> tuple[Linear, list[int], Linear, list[int]] | None:
    """(number + offset) // by and the rest, for all offsets: a sum and what each adds to it.

    What is a multiple of `by` goes out whole. Of what is left, all multiples of g, offsets within one
    block of g do not matter to the quotient.
    """
    offsets = [o + number.constant for o in offsets]
    whole = Linear({a: k // by for a, k in number.terms.items() if k % by == 0})
    left = {a: k for a, k in number.terms.items() if k % by}
    if not left:
        return whole, [o // by for o in offsets], Linear(), [o % by for o in offsets]
    block = gcd(by, *left.values())
    if len({o // block for o in offsets}) > 1:
        return None
    first = offsets[0] // block * block
    inner = Linear(left, first)
    quotient = inner.divide(Linear(constant=by))
    rest = inner + quotient.scale(-by)
    return whole + quotient, [0] * len(offsets), rest, [o - first for o in offsets]


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
    mapped = repeated(at, i.axis, i.times)
    if mapped is not None:
        return e.pull(i.x, mapped)
    singles = [repeated(_at(at.base, (lane,)), i.axis, i.times) for lane in at.lanes]
    return _one_by_one(e, i.x, [found for found in singles if found is not None])


def repeated(at: At, axis: int, times: int) -> At | None:
    """Where a chunk of a repeated tile comes from; None where lanes would part in a quotient."""
    split = _quotient(at.base[axis], [lane[axis] for lane in at.lanes], times)
    if split is None:
        return None
    whole, distances, _, _ = split
    base = (*at.base[:axis], whole, *at.base[axis + 1 :])
    lanes = tuple(
        (*lane[:axis], d, *lane[axis + 1 :]) for lane, d in zip(at.lanes, distances, strict=True)
    )
    return _at(base, lanes)


def same(e: Emission, i: ins.ConvertLayout, at: At) -> Lanes:
    """One thread holds every element: its layout is an order, which a chunk does not see."""
    return e.pull(i.x, at)


PULLS = {
    ins.Full: full, ins.Arange: arange, ins.Transpose: transpose, ins.Broadcast: broadcast,
    ins.Extract: extract, ins.Reshape: reshape, ins.Repeat: repeat, ins.ConvertLayout: same,
}  # fmt: skip
