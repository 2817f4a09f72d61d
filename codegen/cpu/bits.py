"""Elements whose bits are those of others: views, and tensors of compact bits.

A lane's bits are cut out of the element that they begin in, and the next one where they cross it:

    (x >> shift) | (next << (width of x - shift))

The order of storage is for the passes to choose; this serves every order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.bit_positions import coordinates, digits
from dslc.codegen.cpu import words
from dslc.codegen.cpu.blocks import giving_nothing
from dslc.codegen.cpu.elementwise import splat
from dslc.codegen.cpu.places import Array, typed
from dslc.codegen.cpu.transfer import both, index_of, mask_of, places
from dslc.compiler.dtypes import BOOL, U8, DType, parse_dtype
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission


def word(bits: int) -> DType:
    """The unsigned integer of so many bits."""
    found = parse_dtype(f"u{bits}")
    assert found is not None
    return found


_U16, _U64 = word(16), word(64)


def as_word(e: Emission, x: Operand) -> Operand:
    """The code of each lane as an unsigned integer of its width."""
    type_ = vector_type(x)
    if type_.dtype == BOOL:
        return e.b.convert(x, U8)
    return e.b.bitcast(x, type_.of(word(type_.dtype.bits)))


def of_word(e: Emission, x: Operand, dtype: DType) -> Operand:
    """The low bits of words as elements of a dtype."""
    if dtype == BOOL:
        return e.b.binary("ne", x, 0)
    narrow = e.b.convert(x, word(dtype.bits))
    return e.b.bitcast(narrow, vector_type(narrow).of(dtype))


# Views


def view(e: Emission, i: ins.View, at: At) -> Operand:
    """The bits of one tile seen as another: a chunk by the bits that hold it."""
    if i.out.type.dtype.bits > i.x.type.dtype.bits:
        singles = [_joined(e, i, one) for one in e.singly(at)]
        return _together(e, singles, i.out.type.dtype)
    if (found := words.codes(e, i, at)) is not None:
        return found
    bits = [_bit(i, at.lane(k)) for k in range(at.count)]
    width, size = i.out.type.dtype.bits, i.x.type.dtype.bits
    split = [_split(local, size) for _, local in bits]
    if any(rest is None for _, rest in split):
        singles = [_cut_at(e, i, one, *bit) for one, bit in zip(e.singly(at), bits, strict=True)]
        return _together(e, singles, i.out.type.dtype)
    threads = [thread for thread, _ in bits]
    whole = [number for number, _ in split]
    shifts = [rest for _, rest in split if rest is not None]
    x = _pulled(e, i.x, at, threads, whole)
    if any(shifts):
        x = e.b.binary("rshift", x, _distances(shifts, vector_type(x)))
    if any(shift + width > size for shift in shifts):
        last = _locals(i) - 1
        following = [
            _next(n, shift + width > size, last) for n, shift in zip(whole, shifts, strict=True)
        ]
        y = _pulled(e, i.x, at, threads, following)
        y = e.b.binary("lshift", y, _distances([(size - s) % size for s in shifts], vector_type(x)))
        crossing = lanes_of([s + width > size for s in shifts], BOOL)
        both_ = e.b.binary("or", x, y)
        x = e.b.select(crossing, both_, x) if at.count > 1 else both_
    return of_word(e, x, i.out.type.dtype)


def _next(number: Linear, crosses: bool, last: int) -> Linear:
    if not crosses:
        return number
    assert not number.is_constant or number.constant < last, (
        "a thread's bits end within its elements"
    )
    return number + Linear(constant=1)


def _locals(i: ins.View) -> int:
    layout = i.x.type.layout
    assert layout is not None
    return layout.locals


def _bit(i: ins.View, where: tuple[Linear, ...]) -> tuple[Linear, Linear]:
    """The thread that holds an element, and the number of its first bit among the thread's."""
    layout = i.out.type.layout
    assert layout is not None
    thread = digits(layout.spatial_modes, layout.shape, where)
    return thread, digits(layout.local_modes, layout.shape, where).scale(i.out.type.dtype.bits)


def _split(bit: Linear, size: int) -> tuple[Linear, int | None]:
    whole = bit.divide(Linear(constant=size))
    rest = bit + whole.scale(-size)
    return whole, rest.constant if rest.is_constant else None


def _distances(shifts: list[int], type_: VectorType) -> Operand:
    if type_.lanes is None:
        from dslc.compiler.vector.building import constant

        return constant(shifts[0], type_)
    return lanes_of(shifts, type_.dtype)


def _pulled(e: Emission, x: Value, at: At, threads: list[Linear], numbers: list[Linear]) -> Operand:
    """Elements of a tile by thread and place within the thread's, as words."""
    layout = x.type.layout
    assert layout is not None
    spots = [coordinates(layout, t, n) for t, n in zip(threads, numbers, strict=True)]
    steps = [tuple(a - b for a, b in zip(spot, spots[0], strict=True)) for spot in spots]
    if all(d.is_constant for step in steps for d in step):
        lanes = tuple(tuple(d.constant for d in step) for step in steps)
        return as_word(e, e.pull(x, At(spots[0], lanes, at.live)))
    zeros = (0,) * x.type.rank
    ones = zip(e.singly(at), spots, strict=True)
    singles = [as_word(e, e.pull(x, At(spot, (zeros,), one.live))) for one, spot in ones]
    return _together(e, singles, word(x.type.dtype.bits))


def _together(e: Emission, singles: list[Operand], dtype: DType) -> Operand:
    if len(singles) == 1:
        return singles[0]
    out = e.b.operand(0, typed(dtype, len(singles)))
    for k, single in enumerate(singles):
        out = e.b.insert(out, single, k)
    return out


def _cut_at(e: Emission, i: ins.View, at: At, thread: Linear, bit: Linear) -> Operand:
    """One element at a bit that is known at run time only."""
    size = i.x.type.dtype.bits
    number = bit.divide(Linear(constant=size))
    final = (bit + Linear(constant=i.out.type.dtype.bits - 1)).divide(Linear(constant=size))
    low, high = (e.b.convert(_pulled(e, i.x, at, [thread], [n]), _U64) for n in (number, final))
    rest = e.b.convert(e.sum(bit + number.scale(-size)), _U64)
    # Where both are one element, what is above it does not matter.
    total = e.b.binary("rshift", low, rest)
    if size < 64:
        pair = e.b.binary("or", low, e.b.binary("lshift", high, size))
        total = e.b.binary("rshift", pair, rest)
    return of_word(e, total, i.out.type.dtype)


def _joined(e: Emission, i: ins.View, at: At) -> Operand:
    """One element of those narrower ones that its bits overlap, the first in the lowest bits."""
    width, size = i.x.type.dtype.bits, i.out.type.dtype.bits
    thread, bit = _bit(i, at.lane(0))
    first = bit.divide(Linear(constant=width))
    rest = e.b.convert(e.sum(bit + first.scale(-width)), _U64)
    total: Operand | None = None
    for number in range((size + width - 2) // width + 1):
        if number * width >= 64:
            break
        # Elements past the thread's last are of bits that are cut off: any will do.
        local = (first + Linear(constant=number)).modulo(Linear(constant=_locals(i)))
        code = e.b.convert(_pulled(e, i.x, at, [thread], [local]), _U64)
        code = e.b.binary("lshift", code, number * width)
        total = code if total is None else e.b.binary("or", total, code)
    assert total is not None
    return of_word(e, e.b.binary("rshift", total, rest), i.out.type.dtype)


# Tensors of compact bits


def load_bits(
    e: Emission,
    array: Array,
    at: At,
    condition: Operand | None,
    within: Operand | None,
    fill: Operand | None,
) -> Operand:
    """A chunk of a tensor of compact bits in row-major order; `fill`, or 0, where it is refused."""
    b, width, count = e.b, array.dtype.bits, at.count
    mask = both(e, both(e, mask_of(at), within), condition, count)
    first, steps = places(array, at)
    bit = first.scale(width)
    whole = bit.divide(Linear(constant=8))
    neighbours = all(s == Linear(constant=k) for k, s in enumerate(steps))
    if mask is None and neighbours and count > 1 and bit == whole.scale(8):
        pointer = b.advance(array.pointer, e.sum(whole + Linear(constant=array.offset)))
        return b.load_packed(pointer, 0, typed(array.dtype, count))
    where = splat(e, e.sum(bit), count)
    if count > 1:
        known = [s.constant for s in steps] if all(s.is_constant for s in steps) else None
        where = b.add(where, b.mul(index_of(e, array, at, known), width))
    byte, shift = b.binary("rshift", where, 3), b.binary("and", where, 7)
    low = _bytes(e, array, byte, mask)
    pair = b.convert(low, _U16)
    shift16 = b.convert(shift, _U16)
    if 8 % width:
        crossing = both(e, b.binary("gt", shift, 8 - width), mask, count)
        high = _bytes(e, array, b.add(byte, 1), crossing)
        pair = b.binary("or", pair, b.binary("lshift", b.convert(high, _U16), 8))
    codes = of_word(e, b.binary("rshift", pair, shift16), array.dtype)
    if mask is None or fill is None:
        return codes
    return b.select(mask, codes, splat(e, fill, count))


def _bytes(e: Emission, array: Array, byte: Operand, mask: Operand | None) -> Operand:
    b, offset = e.b, array.offset
    if vector_type(byte).lanes is None:
        return b.load(array.pointer, b.add(byte, offset), VectorType(U8), mask=mask)
    return b.gather(array.pointer, offset, byte, U8, scale=1, mask=mask)


def store_bits(e: Emission, array: Array, at: At, x: Operand, within: Operand | None) -> None:
    """A chunk of codes to their places; whole bytes at once, others one by one.

    A byte's remaining bits may be another turn's, on another thread.
    """
    b, width = e.b, array.dtype.bits
    mask = both(e, mask_of(at), within, at.count)
    first, steps = places(array, at)
    bit = first.scale(width)
    whole = bit.divide(Linear(constant=8))
    rest = bit + whole.scale(-8)
    neighbours = all(s == Linear(constant=k) for k, s in enumerate(steps))
    in_bytes = neighbours and at.count * width % 8 == 0 and at.count > 1

    def at_once() -> None:
        pointer = b.advance(array.pointer, e.sum(whole + Linear(constant=array.offset)))
        b.store_packed(pointer, 0, x)

    def singly_() -> None:
        _one_by_one(e, array, bit, steps, x, mask)

    if not in_bytes or (rest.is_constant and rest.constant):
        singly_()
        return
    condition = None if rest.is_constant else b.binary("eq", e.sum(rest), 0)
    if mask is not None:
        every = b.reduce("and", mask)
        condition = both(e, condition, every)
    if condition is None:
        at_once()
        return
    e.choose(condition, giving_nothing(at_once), giving_nothing(singly_))


def _one_by_one(
    e: Emission, array: Array, bit: Linear, steps: list[Linear], x: Operand, mask: Operand | None
) -> None:
    count, width = len(steps), array.dtype.bits
    even = count > 2 and all(s == steps[1].scale(k) for k, s in enumerate(steps))
    codes = as_word(e, x)

    def one(lane: Operand | int, where: Linear) -> None:
        code = codes if count == 1 else e.b.extract(codes, lane)
        here = mask if mask is None or count == 1 else e.b.extract(mask, lane)
        if here is None:
            _merged(e, array, where, code)
        else:
            e.when(here, lambda: _merged(e, array, where, code))

    if even:
        with e.loop("k", ex.index(0), ex.index(count), movable=False) as (k, loop):
            one(loop.var, bit + (steps[1] * k).scale(width))
        return
    for number, step in enumerate(steps):
        one(number, bit + step.scale(width))


def _merged(e: Emission, array: Array, bit: Linear, code: Operand) -> None:
    """A code's bits into one byte or two, by one atomic update a direction."""
    b, width = e.b, array.dtype.bits
    where = e.sum(bit)
    shift = b.convert(b.binary("and", where, 7), _U16)
    byte = b.add(b.binary("rshift", where, 3), array.offset)
    moved = b.binary("lshift", b.convert(code, _U16), shift)
    field = b.binary("lshift", b.operand((1 << width) - 1, VectorType(_U16)), shift)

    def update(at: Operand, up: int) -> None:
        clear = b.convert(b.unary("invert", b.binary("rshift", field, up)), U8)
        put = b.convert(b.binary("rshift", moved, up), U8)
        b.atomic("and", array.pointer, at, clear)
        b.atomic("or", array.pointer, at, put)

    update(byte, 0)
    if 8 % width:
        beyond = b.binary("gt", b.binary("and", where, 7), 8 - width)
        e.when(beyond, lambda: update(b.add(byte, 1), 8))


PULLS: dict[type, Any] = {ins.View: view}
