"""Where the elements of a transposed, sliced, broadcast, reshaped or repeated tile come from.

A chunk of such a tile is a chunk of what it was made of, at other coordinates.
"""

from __future__ import annotations

from math import gcd, prod

from dslc.codegen.chunks.at import At
from dslc.compiler.analysis.axis_extents import matching_axes
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear


def transposed(at: At, axes: tuple[int, ...]) -> At:
    """Of a tile whose axis k is its source's axis axes[k]."""
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    base = tuple(at.base[k] for k in order)
    return At(base, tuple(tuple(lane[k] for k in order) for lane in at.lanes), at.live)


def stretched(at: At, shape: tuple[int, ...]) -> At:
    """Of a broadcast tile: axes of size 1 and those that its source has not are not looked at."""
    skip = len(at.base) - len(shape)
    keep = [n > 1 for n in shape]
    base = tuple(b if k else Linear() for b, k in zip(at.base[skip:], keep, strict=True))
    lanes = tuple(
        tuple(d if k else 0 for d, k in zip(lane[skip:], keep, strict=True)) for lane in at.lanes
    )
    return At(base, lanes, at.live)


def sliced(at: At, i: ins.Extract) -> At:
    """Of a slice: starts + steps * coordinate, dropped axes put back."""
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
    return At(moved, scaled, at.live)


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
    return At(tuple(base), tuple(tuple(lane) for lane in lanes), at.live)


def repeated(at: At, axis: int, times: int, size: int) -> At | None:
    """Where a chunk of a repeated tile comes from, whose source has `size` elements along the axis.

    None where lanes would part in a quotient.
    """
    if size == 1:
        lanes = tuple((*lane[:axis], 0, *lane[axis + 1 :]) for lane in at.lanes)
        return At((*at.base[:axis], Linear(), *at.base[axis + 1 :]), lanes, at.live)
    split = _quotient(at.base[axis], [lane[axis] for lane in at.lanes], times)
    if split is None:
        return None
    whole, distances, _, _ = split
    base = (*at.base[:axis], whole, *at.base[axis + 1 :])
    lanes = tuple(
        (*lane[:axis], d, *lane[axis + 1 :]) for lane, d in zip(at.lanes, distances, strict=True)
    )
    return At(base, lanes, at.live)


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
