"""Loads of chunks of arrays, compact bits among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.bits import load_bits
from dslc.codegen.aarch64.chunks.formats import MASKS, Lanes
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.memory.transfer import gather_register, load_register, places
from dslc.codegen.aarch64.places import Array
from dslc.codegen.chunks.at import At
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir.arithmetic.affine import Linear

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def load_lanes(e: Emission, array: Array, at: At, dtype: DType | None = None) -> Lanes:
    """A chunk of an array, in the format of memory; bools become masks of bytes."""
    if array.compact and dtype is not None:
        return load_bits(e, array, at, dtype)
    elements = places(array, at)
    per = array.form.lanes
    regs = _repeated(e, array, elements) or tuple(
        load_register(e, array, elements[i : i + per]) for i in range(0, len(elements), per)
    )
    if dtype is not None and dtype.kind is Kind.BOOL:
        masks = tuple(e.s.v("cmtst {0}.16b, {1}.16b, {1}.16b", r) for r in regs)
        return Lanes(masks, MASKS[8], at.count)
    return Lanes(regs, array.form, at.count)


def _repeated(e: Emission, array: Array, elements: list[Linear]) -> tuple[Reg, ...] | None:
    """Several registers whose lanes are those of one in memory: read once."""
    per = array.form.lanes
    steps = [x - elements[0] for x in elements]
    if len(elements) <= per or not all(s.is_constant for s in steps):
        return None
    places = [s.constant for s in steps]
    if set(places) != set(range(per)):
        return None
    loaded = load_register(e, array, [elements[places.index(k)] for k in range(per)])
    lanes = [(loaded, place) for place in places]
    parts = (lanes[i : i + per] for i in range(0, len(lanes), per))
    return tuple(gather_register(e, array.form, part) for part in parts)
