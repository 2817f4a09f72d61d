"""Operand interleaving (a permutation of k or of columns): each lane gets neighbours in memory.

A unit spreads k, and the rows and columns of a result, over its lanes in pairs: lane t of four has
elements 2t and 2t + 1 of eight, so a load straight from memory takes 4 bytes a lane. No product minds
which k comes when, as long as both operands have the same order, nor which column a lane has, as long
as the result has the same. So the digits of an axis are interleaved, the lanes' before those that a
lane holds itself:

    k = 16 r + 8 h + 2 t + e      register r, half h, lane t, element e
    k =  8 t + 4 r + 2 h + e      the same, interleaved: lane t has eight neighbours, 16 bytes of f16

Sixteen bytes of activations, of scales or of a result are then one access.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from dslc.compiler.layout import Layout, permute, reshape
from dslc.compiler.passes.layouts.blocked import ACCESS_BITS
from dslc.compiler.passes.layouts.matrix import Plan
from dslc.compiler.targets.target import Atom

Digits = tuple[tuple[int, bool], ...]  # sizes from the most significant, and which the lanes have


def interleaved(plan: Plan, atom: Atom, bits: int, *, shared: bool = False) -> list[Plan]:
    """The plan with k interleaved, with the columns of the result interleaved, and with both.

    `bits` are those of an element. Only where a warp has the whole of both axes, and so reads
    operands that no other warp reads, or where reads of `shared` memory gain by it as well.
    """
    m, n = plan.share[-2:]
    alone = m * n == 1 or shared
    if not alone or plan.copies > 1 or atom.a is None or atom.b is None:
        return []
    assert plan.a is not None
    assert plan.b is not None
    plans: list[Plan] = []
    last = plan.c.rank - 1
    k = _digits(atom.a, 1, plan.a.shape[last] // atom.k, bits)
    if k is not None and _digits(atom.b, 0, plan.b.shape[last - 1] // atom.k, bits) == k:
        along_k = _interleaved(plan.a, last, k), _interleaved(plan.b, last - 1, k)
        plans.append(replace(plan, a=along_k[0], b=along_k[1], interleaved=(True, False)))
    repeats = plan.c.shape[last] // atom.n
    columns = _digits(atom.c, 1, repeats, bits, n)
    if columns is not None and _digits(atom.b, 1, repeats, bits, n) == columns:
        for p in (plan, *tuple(plans)):
            assert p.b is not None
            b, c = _interleaved(p.b, last, columns), _interleaved(p.c, last, columns)
            plans.append(replace(p, b=b, c=c, interleaved=(p.interleaved[0], True)))
    return plans


def _digits(layout: Layout, axis: int, repeats: int, bits: int, warps: int = 1) -> Digits | None:
    """The digits of an atom's axis, below as many repeats as make a lane's 16 bytes.

    `warps` share the repeats: those that are taken are a part of each warp's, or all of several's.
    None where the lanes' digits come first already.
    """
    modes = [
        (mode.stride, mode.size, spatial)
        for side, spatial in ((layout.spatial_modes, True), (layout.local_modes, False))
        for mode in side
        if mode.axis == axis and mode.size > 1
    ]
    modes.sort(reverse=True)
    own = prod(size for _, size, spatial in modes if not spatial)
    joined = 1
    each = repeats // warps
    while repeats % (joined * 2) == 0 and joined * 2 * own * bits <= ACCESS_BITS:
        if each % (joined * 2) and joined * 2 % each:
            break
        joined *= 2
    digits = ((joined, False), *((size, spatial) for _, size, spatial in modes))
    order = [spatial for size, spatial in digits if size > 1]
    return None if order == sorted(order, reverse=True) else digits


def _interleaved(layout: Layout, axis: int, digits: Digits) -> Layout:
    """The axis with its lanes' digits first."""
    sizes = [size for size, _ in digits]
    above = layout.shape[axis] // prod(sizes)
    split = (*layout.shape[:axis], above, *sizes, *layout.shape[axis + 1 :])
    lanes = [i for i, (_, spatial) in enumerate(digits) if spatial]
    own = [i for i, (_, spatial) in enumerate(digits) if not spatial]
    first = axis + 1
    order = [
        *range(first),
        *(first + i for i in (*lanes, *own)),
        *range(first + len(sizes), len(split)),
    ]
    return reshape(permute(reshape(layout, split), order), layout.shape)
