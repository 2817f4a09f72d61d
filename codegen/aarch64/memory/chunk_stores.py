"""Stores of chunks to regions, with checks where an element may be out of bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import Lanes
from dslc.codegen.aarch64.machine_code.blocks import Effect
from dslc.codegen.aarch64.memory import row_stores
from dslc.codegen.aarch64.memory.accesses import check, frame_element, single, to_frame
from dslc.codegen.aarch64.memory.transfer import store_lanes
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.regions import region_at, unproved
from dslc.compiler.ir import Region

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def store_chunk(e: Emission, region: Region, at: At, lanes: Lanes) -> None:
    """A chunk of a tile to its place in a region; what is out of bounds is dropped."""
    where = region_at(region, at)
    array = e.memories[region.memory]
    if array.compact:
        row_stores.store(e, region, where, lanes)
        return
    unsure = unproved(region, where, e.inside)
    if not unsure:
        store_lanes(e, array, where, lanes)
        return
    s = e.s
    slow, end = s.label("edge"), s.label("stored")
    inside = check(e, region, where, unsure)
    s.branch("cbz {0}, @", slow, inside)
    with e.branch():
        store_lanes(e, array, where, lanes)
    s.jump(end)
    s.put(slow)
    with e.branch():
        frame = to_frame(e, lanes)
        for lane in range(at.count):
            one = single(where, lane)
            skip = s.label("skip")
            s.branch("cbz {0}, @", skip, check(e, region, one, unsure))
            with e.branch():
                code = s.vector()
                frame_element(e, "ldr", code, lanes.format, frame, lane, Effect.LOAD)
                store_lanes(e, array, one, Lanes((code,), lanes.format, 1))
            s.put(skip)
    s.put(end)
