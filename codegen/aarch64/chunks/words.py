"""Views element by element, in general registers: bits of a thread's elements, cut anew.

They lie one after another; an element of the view is cut out of those that it overlaps. Codes of fewer
than 8 bits become bytes or words so, for what stores them; weights are rearranged once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.conversions import for_memory
from dslc.codegen.aarch64.chunks.formats import Lanes, stored
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.refusals import unsupported
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.bit_positions import coordinates, digits
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, to_expr

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


_LANE = {8: "b", 16: "h", 32: "s", 64: "d"}


def view(e: Emission, i: ins.View, at: At) -> Lanes:
    """A chunk of a view, in the format of memory."""
    form = stored(i.out.type.dtype)
    name, word = _LANE[form.bits], "{1}" if form.bits == 64 else "{1:w}"
    regs: list[Reg] = []
    for first in range(0, at.count, form.lanes):
        lanes = range(first, min(first + form.lanes, at.count))
        values = [_element(e, i, at.lane(k)) for k in lanes]
        out = e.s.v(f"dup {{0}}.{form.arrangement}, {word}", values[0])
        for lane, value in enumerate(values[1:], 1):
            e.s.onto(f"mov {{0}}.{name}[{lane}], {word}", out, value)
        regs.append(out)
    return Lanes(tuple(regs), form, at.count)


def _element(e: Emission, i: ins.View, where: tuple[Linear, ...]) -> Reg:
    """One element: those that it overlaps, the first in the low bits, shifted to its place."""
    source, target = i.x.type, i.out.type
    assert source.layout is not None
    assert target.layout is not None
    width, size = source.dtype.bits, target.dtype.bits
    thread = digits(target.layout.spatial_modes, target.layout.shape, where)
    bit = digits(target.layout.local_modes, target.layout.shape, where).scale(size)
    first = bit.divide(Linear(constant=width))
    is_aligned = size % width == 0 or width % size == 0
    count = max(1, size // width) if is_aligned else (size + width - 2) // width + 1
    if not is_aligned and size > 32:
        raise unsupported(f"views of {source.dtype} as {target.dtype}", i.loc, "take them in two")
    total: Reg | None = None
    for number in range(count):
        # Codes past the thread's last are of bits that are cut off: any code will do.
        local = (first + Linear(constant=number)).modulo(Linear(constant=source.layout.locals))
        code = _code(e, i, coordinates(source.layout, thread, local))
        if total is None:
            total = code
        else:
            total = e.s.x(f"orr {{0}}, {{1}}, {{2}}, lsl #{number * width}", total, code)
    assert total is not None
    rest = bit + first.scale(-width)
    value = e.s.x("lsr {0}, {1}, {2}", total, e.integer(to_expr(rest)))
    if size >= 8:
        return value
    cut = "sbfx" if target.dtype.kind is Kind.INT else "ubfx"
    return e.s.x(f"{cut} {{0}}, {{1}}, #0, #{size}", value)


def _code(e: Emission, i: ins.View, where: tuple[Linear, ...]) -> Reg:
    """The bits of an element of the tile that is seen."""
    dtype = i.x.type.dtype
    lanes = for_memory(e, e.pull(i.x, At(where, ((0,) * i.x.type.rank,))), dtype)
    word = "{0}" if lanes.format.bits == 64 else "{0:w}"
    raw = e.s.x(f"umov {word}, {{1}}.{_LANE[lanes.format.bits]}[0]", lanes.regs[0])
    if dtype.bits >= 8:
        return raw
    return e.s.x(f"and {{0}}, {{1}}, #{(1 << dtype.bits) - 1}", raw)
