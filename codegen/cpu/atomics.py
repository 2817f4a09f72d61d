"""Atomic updates, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.regions import region_at
from dslc.codegen.cpu.accesses import bounds
from dslc.codegen.cpu.indirect import row
from dslc.codegen.cpu.nests import nest
from dslc.codegen.cpu.refusals import unsupported
from dslc.codegen.cpu.statements import scratch_for
from dslc.codegen.cpu.transfer import address, both, element, store_lanes
from dslc.compiler.ir import instructions as ins

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission


def atomic_rmw(e: Emission, i: ins.AtomicRmw) -> None:
    """Element by element; what stood there before goes to scratch memory, 0 out of bounds."""
    dtype = i.x.type.dtype
    if dtype.bits < 8 or dtype.name == "tf32":
        raise unsupported(f"atomic updates of {dtype}", i.loc, "use an i32 or f32 tensor")
    array = e.memories[i.region.memory]
    result = None if i.out is None else scratch_for(e, i.out)
    order = "relaxed" if i.out is None and not i.is_counter else "acq_rel"

    def one(at: At) -> None:
        x = e.pull(i.x, at)
        region, rest = row(e, i, at)
        where = region_at(region, rest)
        condition, within = bounds(e, region, where)

        def update() -> None:
            pointer, offset = address(e, array, element(array, where.lane(0)))
            if i.expected is None:
                old = e.b.atomic(i.op, pointer, offset, x, order)
            else:
                old = e.b.compare_exchange(pointer, offset, e.pull(i.expected, at), x, order)
            if result is not None:
                store_lanes(e, result, at, old)

        inside = both(e, condition, within)
        if inside is None:
            update()
            return
        if result is not None:
            store_lanes(e, result, at, e.b.operand(0, x.type))  # type: ignore[arg-type]
        e.when(inside, update)

    nest(e, i.x.type.shape, 1, one)
    e.forget()
    if i.out is not None and result is not None:
        e.settle(i.out, result)


STATEMENTS: dict[type, Any] = {ins.AtomicRmw: atomic_rmw}
