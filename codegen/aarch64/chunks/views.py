"""Views: the bits of one dtype as another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dslc.codegen.aarch64.chunks import words
from dslc.codegen.aarch64.chunks.bits import tile_bytes, unpack
from dslc.codegen.aarch64.chunks.conversions import for_memory
from dslc.codegen.aarch64.chunks.formats import Lanes, stored
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.bit_positions import digits
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def view(e: Emission, i: ins.View, at: At) -> Lanes:
    """The bits of one dtype seen as another: a chunk by the bits that hold it."""
    source, target = i.x.type, i.out.type
    assert source.layout is not None
    assert target.layout is not None
    if source.dtype.bits == target.dtype.bits >= 8 and source.layout == target.layout:
        x = for_memory(e, e.pull(i.x, at), source.dtype)
        return Lanes(x.regs, stored(target.dtype), x.count)
    if source.dtype.bits % 8 or target.dtype.bits > 8:
        return words.view(e, i, at)
    layout, width, size = target.layout, target.dtype.bits, source.dtype.bits // 8
    each = layout.locals * width // 8  # bytes of a thread
    bits = []
    for k in range(at.count):
        where = at.lane(k)
        thread = digits(layout.spatial_modes, layout.shape, where)
        local = digits(layout.local_modes, layout.shape, where)
        bits.append(thread.scale(8 * each) + local.scale(width))

    def fetch(numbers: list[Linear]) -> Lanes:
        return tile_bytes(e, i.x, size, each, numbers)

    return unpack(e, bits, fetch, target.dtype)


PULLS: dict[type, Any] = {ins.View: view}
