"""Codes of fewer than 8 bits seen as bytes or words: what stores them has whole elements to write.

The bits of a thread's codes lie one after another; a byte or word of the thread is cut out of those
that it overlaps. This is done element by element in general registers: weights are rearranged once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import SIGNED, UNSIGNED, Lanes
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.bit_positions import coordinates, digits
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, to_expr

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def is_whole(i: ins.View) -> bool:
    """Whether a view is of integer codes as whole bytes or words of up to 32 bits."""
    source, target = i.x.type.dtype, i.out.type.dtype
    return source.bits < 8 <= target.bits <= 32 and source.is_integer and target.is_integer


def whole(e: Emission, i: ins.View, at: At) -> Lanes:
    """A chunk of such a view."""
    form = UNSIGNED[i.out.type.dtype.bits]
    name = {8: "b", 16: "h", 32: "s"}[form.bits]
    regs: list[Reg] = []
    for first in range(0, at.count, form.lanes):
        lanes = range(first, min(first + form.lanes, at.count))
        values = [_element(e, i, at.lane(k)) for k in lanes]
        out = e.s.v(f"dup {{0}}.{form.arrangement}, {{1:w}}", values[0])
        for lane, value in enumerate(values[1:], 1):
            e.s.onto(f"mov {{0}}.{name}[{lane}], {{1:w}}", out, value)
        regs.append(out)
    signed = i.out.type.dtype.kind is Kind.INT
    return Lanes(tuple(regs), SIGNED[form.bits] if signed else form, at.count)


def _element(e: Emission, i: ins.View, where: tuple[Linear, ...]) -> Reg:
    """One byte or word: the codes that it overlaps, the first in the low bits, shifted to its place."""
    source, target = i.x.type, i.out.type
    assert source.layout is not None
    assert target.layout is not None
    width, size = source.dtype.bits, target.dtype.bits
    thread = digits(target.layout.spatial_modes, target.layout.shape, where)
    bit = digits(target.layout.local_modes, target.layout.shape, where).scale(size)
    first = bit.divide(Linear(constant=width))
    total: Reg | None = None
    for number in range((size + width - 2) // width + 1):
        # Codes past the thread's last are of bits that are cut off: any code will do.
        local = (first + Linear(constant=number)).modulo(Linear(constant=source.layout.locals))
        code = _code(e, i, coordinates(source.layout, thread, local))
        if total is None:
            total = code
        else:
            total = e.s.x(f"orr {{0}}, {{1}}, {{2}}, lsl #{number * width}", total, code)
    assert total is not None
    rest = bit + first.scale(-width)
    return e.s.x("lsr {0}, {1}, {2}", total, e.integer(to_expr(rest)))


def _code(e: Emission, i: ins.View, where: tuple[Linear, ...]) -> Reg:
    code = e.pull(i.x, At(where, ((0,) * i.x.type.rank,))).regs[0]
    raw = e.s.x("umov {0:w}, {1}.b[0]", code)
    return e.s.x(f"and {{0}}, {{1}}, #{(1 << i.x.type.dtype.bits) - 1}", raw)
