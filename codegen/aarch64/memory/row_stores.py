"""Stores of elements that share bytes (`packed row`).

A chunk of neighbours that begins and ends with a byte is joined in a register and stored as bytes:

    uzp1 v1.16b, v0.16b, v0.16b      the even codes of 16 nibbles
    uzp2 v2.16b, v0.16b, v0.16b      the odd ones
    sli  v1.16b, v2.16b, #4
    str  d1, [x0]

Whether it does may be known at run time only. Other elements are put into their bytes one by one, whose
remaining bits may be another turn's, on another thread: by exclusive loads and stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import Lanes
from dslc.codegen.aarch64.machine_code.blocks import Effect, Inst, Reg
from dslc.codegen.aarch64.memory.accesses import check, to_frame
from dslc.codegen.aarch64.memory.transfer import places
from dslc.codegen.aarch64.places import Array
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.regions import unproved
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, to_expr

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_NAMES = {1: "b", 2: "h", 4: "s", 8: "d"}


def store(e: Emission, region: Region, where: At, lanes: Lanes) -> None:
    """A chunk of codes, a byte each, to its place; what is out of bounds is dropped."""
    s, array, dtype = e.s, e.memories[region.memory], region.memory.dtype
    elements = places(array, where)
    unsure = unproved(region, where, e.inside)
    first = elements[0].scale(dtype.bits)
    over = first + first.divide(Linear(constant=8)).scale(-8)
    rest = over.constant if over.is_constant else None
    in_order = all(x - elements[0] == Linear(constant=k) for k, x in enumerate(elements))
    whole = in_order and where.count * dtype.bits % 8 == 0 and rest in (0, None)
    if not whole:
        _one_by_one(e, region, where, lanes, elements, unsure)
        return
    slow, end = s.label("shared"), s.label("stored")
    if rest is None:
        s.branch("tst {0}, #7\n\tb.ne @", slow, e.integer(to_expr(first)))
    if unsure:
        s.branch("cbz {0}, @", slow, check(e, region, where, unsure))
    if rest == 0 and not unsure:
        _bytes(e, array, first, lanes, dtype)
        return
    with e.branch():
        _bytes(e, array, first, lanes, dtype)
    s.jump(end)
    s.put(slow)
    with e.branch():
        _one_by_one(e, region, where, lanes, elements, unsure)
    s.put(end)


# Whole bytes


def _bytes(e: Emission, array: Array, first: Linear, lanes: Lanes, dtype: DType) -> None:
    """Codes that begin with a byte and fill their last one."""
    s, bits = e.s, dtype.bits
    base = s.x("add {0}, {1}, {2}, asr #3", array.base, e.integer(to_expr(first)))
    mask = s.splat((1 << bits) - 1, 8)
    reg = s.v("and {0}.16b, {1}.16b, {2}.16b", lanes.regs[0], mask)
    if 8 % bits == 0:
        width = bits
        while width < 8:
            even = s.v("uzp1 {0}.16b, {1}.16b, {1}.16b", reg)
            odd = s.v("uzp2 {0}.16b, {1}.16b, {1}.16b", reg)
            reg, width = s.onto(f"sli {{0}}.16b, {{1}}.16b, #{width}", even, odd), 2 * width
        name = _NAMES[lanes.count * bits // 8]
        s.store(f"str {{0:{name}}}, [{{1}}]", reg, base, alias=array.alias)
        return
    for k in range(-(-lanes.count // 8)):
        eight = _joined(e, s.x(f"umov {{0}}, {{1}}.d[{k}]", reg), bits)
        at, whole = k * bits, min(lanes.count - 8 * k, 8) * bits // 8
        for name, size in (("w", 4), ("h", 2), ("b", 1)):
            if whole & size:
                text = f"str{'' if name == 'w' else name} {{0:w}}, [{{1}}, #{at}]"
                s.store(text, eight, base, alias=array.alias)
                eight, at = s.x(f"lsr {{0}}, {{1}}, #{8 * size}", eight), at + size


def _joined(e: Emission, codes: Reg, bits: int) -> Reg:
    """Eight bytes' low bits one after another, in three steps of doubling width."""
    s = e.s
    for step in range(3):
        width, used = 8 << step, bits << step
        even = sum(((1 << used) - 1) << at for at in range(0, 64, 2 * width))
        low = s.x("and {0}, {1}, {2}", codes, s.number(even))
        high = s.x("and {0}, {1}, {2}", codes, s.number(even << width))
        codes = s.x(f"orr {{0}}, {{1}}, {{2}}, lsr #{width - used}", low, high)
    return codes


# Elements


def _one_by_one(
    e: Emission, region: Region, where: At, lanes: Lanes, elements: list[Linear], unsure: list[int]
) -> None:
    """Each lane whose element is in bounds; neighbours in a loop."""
    frame, dtype = to_frame(e, lanes), region.memory.dtype
    count, last = where.count, where.lanes[-1]
    step = elements[1] - elements[0] if count > 1 else Linear()
    in_steps = all(x - elements[0] == step.scale(k) for k, x in enumerate(elements))
    moves = [n // (count - 1) for n in last] if count > 1 else [0 for _ in last]
    straight = all(x == tuple(m * k for m in moves) for k, x in enumerate(where.lanes))
    if count < 3 or not in_steps or not straight or any(where.lanes[0]):
        for k, element in enumerate(elements):
            one = At(where.base, (where.lanes[k],))
            _element(e, region, one, element.scale(dtype.bits), frame, Linear(constant=k), unsure)
        return
    with e.loop("k", ex.index(0), ex.index(count), ex.index(1), movable=False) as var:
        lane = Linear({var: 1})
        base = tuple(b + lane.scale(m) for b, m in zip(where.base, moves, strict=True))
        here = (elements[0] + step * lane).scale(dtype.bits)
        _element(e, region, At(base, (where.lanes[0],)), here, frame, lane, unsure)


def _element(
    e: Emission, region: Region, at: At, bit: Linear, frame: int, lane: Linear, unsure: list[int]
) -> None:
    """One code from a lane of the stack frame, if its element is in bounds."""
    s, skip = e.s, e.s.label("skip")
    if unsure:
        s.branch("cbz {0}, @", skip, check(e, region, at, unsure))
    with e.branch():
        code = s.general()
        offset = e.integer(to_expr(lane + Linear(constant=frame)))
        load = Inst("ldrb {0:w}, [sp, {1}]", (code, offset), 1, effect=Effect.LOAD)
        load.alias = ("frame", frame)
        s.put(load)
        _merged(e, e.memories[region.memory], e.integer(to_expr(bit)), code, region.memory.dtype)
    s.put(skip)


def _merged(e: Emission, array: Array, bit: Reg, code: Reg, dtype: DType) -> None:
    """A code's bits into one byte or two."""
    s = e.s
    base = s.x("add {0}, {1}, {2}, asr #3", array.base, bit)
    shift = s.x("and {0}, {1}, #7", bit)
    own = s.x(f"and {{0}}, {{1}}, #{(1 << dtype.bits) - 1}", code)
    mask = s.x("lsl {0}, {1}, {2}", s.number((1 << dtype.bits) - 1), shift)
    moved = s.x("lsl {0}, {1}, {2}", own, shift)
    _exchange(e, array, base, mask, moved)
    if 8 % dtype.bits:
        second, done = s.x("lsr {0}, {1}, #8", mask), s.label("merged")
        s.branch("cbz {0}, @", done, second)
        with e.branch():
            after = s.x("add {0}, {1}, #1", base)
            _exchange(e, array, after, second, s.x("lsr {0}, {1}, #8", moved))
        s.put(done)


def _exchange(e: Emission, array: Array, base: Reg, mask: Reg, bits: Reg) -> None:
    """Bits of a byte; until no other thread came between. One line: nothing may be spilled inside."""
    s = e.s
    text = (
        "mov {1:w}, wzr\n1:\n\tldxrb {0:w}, [{2}]\n\tbic {0:w}, {0:w}, {3:w}\n"
        "\torr {0:w}, {0:w}, {4:w}\n\tstxrb {1:w}, {0:w}, [{2}]\n\tcbnz {1:w}, 1b"
    )
    value, failed = s.copy(s.number(0)), s.copy(s.number(0))  # no register of an operand's
    operands = (value, failed, base, mask, bits)
    s.put(Inst(text, operands, 2, reads_result=True, effect=Effect.STORE, alias=array.alias))
