"""Chunks from and to memory: one access where lanes lie side by side or evenly apart.

Runs of neighbours come in one load each, lanes near each other in one load and a shuffle; all others
are gathered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At
from dslc.codegen.cpu.elementwise import splat
from dslc.codegen.cpu.places import Array, Live, typed
from dslc.compiler.dtypes import I32, INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, linear, to_expr
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_NEAR = 4  # times its lanes: how far a chunk may reach to come in one load
_FEWEST = 4  # lanes of a run that is loaded by itself
_LINE = 64  # bytes of a cache line


def element(array: Array, where: tuple[Linear, ...]) -> Linear:
    """The number of an element in an array."""
    total = Linear()
    for x, stride in zip(where, array.strides, strict=True):
        total = total + x * stride
    return total


def places(array: Array, at: At) -> tuple[Linear, list[Linear]]:
    """The number of a chunk's first element in an array, and the distances of its lanes from there."""
    steps: list[Linear] = []
    first = at.lanes[0]
    for lane in at.lanes:
        total = Linear()
        for d, d0, stride in zip(lane, first, array.strides, strict=True):
            if d != d0:
                total = total + stride.scale(d - d0)
        steps.append(total)
    return element(array, at.lane(0)), steps


def address(e: Emission, array: Array, number: Linear) -> tuple[Operand, Operand]:
    """A pointer and an offset in bytes: what varies, and behind it what is known."""
    form = number.scale(array.size) + Linear(constant=array.offset)
    if form.is_constant:
        return array.pointer, e.b.offset(form.constant)
    moved = Linear(form.terms)
    key = ("pointer", array.pointer, moved.terms and tuple(sorted(moved.terms.items(), key=repr)))
    found = e.recall(key)
    if found is None:
        level = max(array.level, *(e.level_of(a) for a in moved.terms))
        with e.ahead_of(level):
            found = e.remember(key, e.b.advance(array.pointer, e.sum(moved)))
    return found, e.b.offset(form.constant)


def mask_of(at: At) -> Operand | None:
    """The mask of the lanes that count, if not all do."""
    return at.live.mask if isinstance(at.live, Live) else None


def load_lanes(
    e: Emission,
    array: Array,
    at: At,
    condition: Operand | None = None,
    within: Operand | None = None,
    fill: Operand | None = None,
) -> Operand:
    """A chunk of an array. What the scalar `condition`, or the mask `within`, refuses is `fill`.

    Lanes that do not count are not read.
    """
    b, count = e.b, at.count
    first, steps = places(array, at)
    known = [s.constant for s in steps] if all(s.is_constant for s in steps) else None
    if count > 1 and known is not None and not any(known) and within is None:
        one = load_lanes(e, array, At(at.base, at.lanes[:1]), condition, None, fill)
        return splat(e, one, count)
    mask = both(e, both(e, mask_of(at), within), condition, count)
    if fill is not None:
        fill = splat(e, fill, count)
    type_ = typed(array.dtype, count)
    if count == 1 or (known is not None and known == list(range(count))):
        pointer, offset = address(e, array, first)
        _prefetch(e, array, first, count)
        return b.load(pointer, offset, type_, mask=mask, fill=fill)
    if known is not None:
        found = _by_runs(e, array, first, known, mask, fill)
        if found is None and mask is None:
            found = _nearby(e, array, first, known)
        if found is not None:
            return found
    pointer, offset = address(e, array, first)
    step = _even(steps)
    if step is not None:
        stride = e.sum(step.scale(array.size))
        return b.load_strided(pointer, offset, stride, type_, mask=mask, fill=fill)
    index = index_of(e, array, at, known)
    return b.gather(pointer, offset, index, array.dtype, scale=array.size, mask=mask, fill=fill)


def _prefetch(e: Emission, array: Array, first: Linear, count: int) -> None:
    """Ask for what an iteration to come loads in place of some elements, a line at a time.

    What is less than a line is not worth an instruction, unless it is a whole register, as of AVX2.
    """
    fewest = max(_LINE // 2, e.machine.vector_bits // 8)
    if e.ahead is None or count * array.size < fewest or array.pointer is e.scratch:
        return
    var, distance = e.ahead
    later = ex.Binary("add", var, ex.index(distance), INDEX)
    then = linear(ex.substitute(to_expr(first), {var: later}))
    if then == first:
        return
    pointer, offset = address(e, array, then)
    for line in range(0, count * array.size, _LINE):
        e.b.prefetch(pointer, e.b.add(offset, line), locality=2)


def store_lanes(
    e: Emission,
    array: Array,
    at: At,
    x: Operand,
    mask: Operand | None = None,
    *,
    stream: bool = False,
) -> None:
    """A chunk to an array of its dtype, where the mask and the chunk's own allow it."""
    b, count = e.b, at.count
    mask = both(e, mask_of(at), mask, count)
    first, steps = places(array, at)
    pointer, offset = address(e, array, first)
    known = [s.constant for s in steps] if all(s.is_constant for s in steps) else None
    if count == 1 or known == list(range(count)):
        align = _LINE if stream else 1
        b.store(pointer, offset, x, mask=mask, align=align, nontemporal=stream)
        return
    step = _even(steps)
    if step is not None:
        stride = e.sum(step.scale(array.size))
        b.store_strided(pointer, offset, stride, x, mask=mask)
        return
    index = index_of(e, array, at, known)
    b.scatter(pointer, offset, index, x, scale=array.size, mask=mask)


def both(
    e: Emission, mask: Operand | None, other: Operand | None, count: int = 0
) -> Operand | None:
    """Where two masks hold; `other` may be one bool for so many lanes.

    The first lanes, as many as are known, are counted: of a mask whose upper half is known to hold
    nowhere only once it is split, LLVM 22 makes a load without a mask (AVX2).
    """
    if other is not None and count > 1 and other.type == VectorType(other.type.dtype):  # type: ignore[union-attr]
        live = mask.values if isinstance(mask, Constant) else ()
        if len(live) == count and all(live[: sum(map(bool, live))]):
            many = e.b.select(other, e.b.operand(sum(map(bool, live)), VectorType(I32)), 0)
            return e.b.binary("lt", e.b.iota(count, I32), e.b.broadcast(many, count))
        other = e.b.broadcast(other, count)
    if mask is None or other is None:
        return other if mask is None else mask
    return e.b.binary("and", mask, other)


def _even(steps: list[Linear]) -> Linear | None:
    """The one distance between neighbouring lanes."""
    step = steps[1]
    return step if all(s == step.scale(k) for k, s in enumerate(steps)) else None


def _by_runs(
    e: Emission,
    array: Array,
    first: Linear,
    known: list[int],
    mask: Operand | None,
    fill: Operand | None,
) -> Operand | None:
    """Neighbours in a few runs of one length, each loaded by itself."""
    count = len(known)
    length = next((k for k in range(1, count) if known[k] != known[0] + k), count)
    if length < _FEWEST or count % length or length == count:
        return None
    heads = known[::length]
    if any(known[k] != heads[k // length] + k % length for k in range(count)):
        return None
    parts = []
    for number, head in enumerate(heads):
        pointer, offset = address(e, array, first + Linear(constant=head))
        some = [None if m is None else e.b.part(m, number * length, length) for m in (mask, fill)]
        type_ = typed(array.dtype, length)
        parts.append(e.b.load(pointer, offset, type_, mask=some[0], fill=some[1]))
    return e.b.concat(*parts)


def _nearby(e: Emission, array: Array, first: Linear, known: list[int]) -> Operand | None:
    """Lanes that are near each other, in another order: one load and a shuffle."""
    low, high = min(known), max(known)
    reach = high - low + 1
    if reach > _NEAR * len(known) or (reach > len(known) and _is_even(known)):
        return None
    pointer, offset = address(e, array, first + Linear(constant=low))
    if reach == 1:
        return None
    loaded = e.b.load(pointer, offset, typed(array.dtype, reach))
    return e.b.shuffle(loaded, [k - low for k in known])


def _is_even(known: list[int]) -> bool:
    return all(x == known[1] * k for k, x in enumerate(known))


def index_of(e: Emission, array: Array, at: At, known: list[int] | None) -> Operand:
    """The distances of lanes in elements, as a vector."""
    if known is not None:
        return lanes_of(known, INDEX)
    total: Operand | None = None
    for axis, stride in enumerate(array.strides):
        moved = [lane[axis] - at.lanes[0][axis] for lane in at.lanes]
        if any(moved):
            term = e.b.mul(lanes_of(moved, INDEX), splat(e, e.sum(stride), at.count))
            total = term if total is None else e.b.add(total, term)
    assert total is not None
    return total
