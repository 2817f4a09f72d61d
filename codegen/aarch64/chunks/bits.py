"""Elements of fewer than 8 bits: chunks taken out of bytes.

Codes that lie at one place of bytes that follow each other need a shift and a mask for sixteen. Others
are brought by a table look-up of bytes (pairs of bytes, where codes cross them) and shifted lane by
lane. The order of storage is for the passes to choose; this serves every order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.conversions import for_memory
from dslc.codegen.aarch64.chunks.formats import SIGNED, UNSIGNED, Lanes
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.memory.transfer import gather_register, load_register, places
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.bit_positions import byte_and_bit, coordinates, digits
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, to_expr

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission
    from dslc.codegen.aarch64.places import Array

Fetch = Callable[[list[Linear]], Lanes]  # bytes by their numbers


def raw_bytes(e: Emission, i: ins.View, at: At, upper: At) -> Reg | None:
    """The bytes whose lower four bits are one chunk and whose upper ones another; None otherwise."""
    source, target = i.x.type, i.out.type
    layout = target.layout
    if layout is None or target.dtype.name != "u4" or source.dtype.bits != 8 or layout.threads != 1:
        return None
    numbers = []
    for k in range(at.count):
        low = digits(layout.local_modes, layout.shape, at.lane(k)).scale(4)
        high = digits(layout.local_modes, layout.shape, upper.lane(k)).scale(4)
        byte = byte_and_bit(low)
        if byte is None or byte[1] or high - low != Linear(constant=4):
            return None
        numbers.append(byte[0])
    if any(n - numbers[0] != Linear(constant=k) for k, n in enumerate(numbers)):
        return None
    return tile_bytes(e, i.x, 1, layout.locals // 2, numbers).regs[0]


def tile_bytes(e: Emission, x: Value, size: int, each: int, numbers: list[Linear]) -> Lanes:
    """Bytes of a tile by thread and place within the thread's: at once where they are neighbours."""
    layout = x.type.layout
    assert layout is not None
    places, parts = [], []
    for number in numbers:
        byte = number if layout.threads == 1 else number.modulo(Linear(constant=each))
        thread = Linear() if layout.threads == 1 else number.divide(Linear(constant=each))
        element = byte.divide(Linear(constant=size))
        parts.append(byte + element.scale(-size))
        places.append(coordinates(layout, thread, element))
    first = places[0]
    steps = [tuple(x - y for x, y in zip(place, first, strict=True)) for place in places]
    if size == 1 and all(d.is_constant for step in steps for d in step):
        at = At(first, tuple(tuple(d.constant for d in step) for step in steps))
        return for_memory(e, e.pull(x, at), x.type.dtype)
    ones = (At(place, ((0,) * x.type.rank,)) for place in places)
    singles = [for_memory(e, e.pull(x, at), x.type.dtype) for at in ones]
    wanted = [_byte(e, lanes.regs[0], part) for lanes, part in zip(singles, parts, strict=True)]
    return Lanes((gather_register(e, UNSIGNED[8], wanted),), UNSIGNED[8], len(numbers))


def _byte(e: Emission, reg: Reg, part: Linear) -> tuple[Reg, int]:
    """A register and the lane of it that is byte `part` of its first element."""
    if part.is_constant:
        return reg, part.constant
    whole = e.s.x("umov {0}, {1}.d[0]", reg)
    moved = e.s.x("lsr {0}, {1}, {2}", whole, e.integer(to_expr(part.scale(8))))
    return e.s.v("dup {0}.16b, {1:w}", moved), 0


def load_bits(e: Emission, array: Array, at: At, dtype: DType) -> Lanes:
    """A chunk of a tensor of compact bits in row-major order."""
    bits = [n.scale(dtype.bits) for n in places(array, at)]

    def fetch(numbers: list[Linear]) -> Lanes:
        return Lanes((load_register(e, array, numbers),), UNSIGNED[8], len(numbers))

    return unpack(e, bits, fetch, dtype)


def unpack(e: Emission, bits: list[Linear], fetch: Fetch, dtype: DType) -> Lanes:
    """The codes that begin at these bits, sign-extended if they are of a signed integer."""
    form = SIGNED[8] if dtype.kind is Kind.INT else UNSIGNED[8]
    split = [byte_and_bit(b) for b in bits]
    if any(s is None for s in split) or not _near(split):
        singles = [_one(e, b, fetch, dtype) for b in bits]
        reg = gather_register(e, form, [(r, 0) for r in singles])
        return Lanes((reg,), form, len(bits))
    places = [s for s in split if s is not None]
    shifts = {shift for _, shift in places}
    crossing = any(shift + dtype.bits > 8 for _, shift in places)
    first = places[0][0]
    steps = [(byte - first).constant for byte, _ in places]
    if len(shifts) == 1 and not crossing and steps == list(range(len(steps))):
        loaded = fetch([byte for byte, _ in places]).regs[0]
        return Lanes((_field(e, loaded, shifts.pop(), dtype),), form, len(bits))
    low = min(steps)
    base = first + Linear(constant=low)
    last = max(
        s + ((shift + dtype.bits - 1) // 8) for s, (_, shift) in zip(steps, places, strict=True)
    )
    loaded = fetch([base + Linear(constant=n) for n in range(last - low + 1)]).regs[0]
    offsets = [s - low for s in steps]
    distances = [shift for _, shift in places]
    if crossing:
        reg = _wide(e, loaded, offsets, distances)
    else:
        table = e.s.literal(bytes([*offsets, *[255] * (16 - len(offsets))]))
        reg = e.s.v("tbl {0}.16b, { {1}.16b }, {2}.16b", loaded, table)
        by = e.s.literal(bytes((-d) & 255 for d in [*distances, *[0] * (16 - len(distances))]))
        reg = e.s.v("ushl {0}.16b, {1}.16b, {2}.16b", reg, by)
    return Lanes((_field(e, reg, 0, dtype),), form, len(bits))


def _near(split: list[tuple[Linear, int] | None]) -> bool:
    """Whether all lie within one register's bytes."""
    known = [s for s in split if s is not None]
    steps = [s[0] - known[0][0] for s in known]
    if not all(s.is_constant for s in steps):
        return False
    distances = [s.constant for s in steps]
    return max(distances) - min(distances) < 15 or distances == list(range(len(distances)))


def _field(e: Emission, reg: Reg, shift: int, dtype: DType) -> Reg:
    """Bits [shift, shift + width) of every byte, extended."""
    width = dtype.bits
    if dtype.kind is Kind.INT:
        if shift + width < 8:
            reg = e.s.v(f"shl {{0}}.16b, {{1}}.16b, #{8 - shift - width}", reg)
        return e.s.v(f"sshr {{0}}.16b, {{1}}.16b, #{8 - width}", reg) if width < 8 else reg
    if shift:
        reg = e.s.v(f"ushr {{0}}.16b, {{1}}.16b, #{shift}", reg)
    if shift + width == 8:
        return reg
    mask = e.s.splat((1 << width) - 1, 8)
    return e.s.v("and {0}.16b, {1}.16b, {2}.16b", reg, mask)


def _wide(e: Emission, loaded: Reg, offsets: list[int], distances: list[int]) -> Reg:
    """Codes that cross bytes: pairs of bytes in lanes of 16 bits, shifted down, their low bytes."""
    halves = []
    for k in range(0, len(offsets), 8):
        index, by = bytearray(), bytearray()
        for offset, distance in zip(offsets[k : k + 8], distances[k : k + 8], strict=True):
            index += bytes((offset, offset + 1 if offset < 15 else 255))
            by += ((-distance) & 0xFFFF).to_bytes(2, "little")
        table = e.s.literal(bytes(index.ljust(16, b"\xff")))
        pair = e.s.v("tbl {0}.16b, { {1}.16b }, {2}.16b", loaded, table)
        shift = e.s.literal(bytes(by.ljust(16, b"\0")))
        halves.append(e.s.v("ushl {0}.8h, {1}.8h, {2}.8h", pair, shift))
    return e.s.v("uzp1 {0}.16b, {1}.16b, {2}.16b", halves[0], halves[-1])


def _one(e: Emission, bit: Linear, fetch: Fetch, dtype: DType) -> Reg:
    """A code at a place that is known at run time only."""
    byte = bit.divide(Linear(constant=8))
    rest = bit + byte.scale(-8)
    low = e.s.x("umov {0:w}, {1}.b[0]", fetch([byte]).regs[0])
    last = (bit + Linear(constant=dtype.bits - 1)).divide(Linear(constant=8))
    high = e.s.x("umov {0:w}, {1}.b[0]", fetch([last]).regs[0])
    both = e.s.x("orr {0}, {1}, {2}, lsl #8", low, high)
    # Where both are one byte, what is above it does not matter.
    moved = e.s.x("lsr {0}, {1}, {2}", both, e.integer(to_expr(rest)))
    op = "sbfx" if dtype.kind is Kind.INT else "ubfx"
    value = e.s.x(f"{op} {{0}}, {{1}}, #0, #{dtype.bits}", moved)
    return e.s.v("dup {0}.16b, {1:w}", value)
