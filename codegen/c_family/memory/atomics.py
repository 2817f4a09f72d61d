"""Atomic additions."""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.through_shared import broadcast_copies
from dslc.codegen.c_family.indexing import loops
from dslc.codegen.c_family.memory.accesses import access, first_copy, pointer
from dslc.codegen.c_family.memory.widths import vector_width
from dslc.codegen.c_family.scalars import unsupported
from dslc.compiler.ir import instructions as ins

_PAIRS = ("f16", "bf16")
_ADDED = frozenset({*(f"{s}{n}" for s in "iu" for n in (8, 16, 32, 64)), "f32", "f64", *_PAIRS})


def atomic_add(e: Emission, s: ins.AtomicAdd) -> None:
    """Each element added atomically; halves two at a time where they share a word."""
    tile = e.tile(s.x)
    dtype = s.region.memory.dtype
    if dtype.name not in _ADDED:
        raise unsupported(f"atomic additions of {dtype}", "add in an i32 or f32 tensor")
    paired = s.out is None and dtype.name in _PAIRS and vector_width(e, s.region, tile.layout) > 1
    target = access(e, s.region, tile.layout, 2 if paired else 1)
    out = e.new(s.out, zero=True) if s.out is not None else None
    once = first_copy(tile.layout)
    if s.is_counter:  # a counter orders what the block wrote before and reads after
        e.out.line("__threadfence();")
        e.barrier()
    with e.exchanging(target.memory), loops(e.out, target.runs):
        inside = " && ".join(p for p in (once, target.inside()) if p) or "true"
        element = target.runs.element
        with e.out.block(f"if ({inside})"):
            to = f"{pointer(e, target.memory)} + {target.address()}"
            if paired:
                call = f"atomic_add_{dtype.name}x2({to}, {tile.name}[({element}) / 2])"
            else:
                call = f"atomic_add_{dtype.name}({to}, {tile.read(element)})"
            e.out.line(f"{call};" if out is None else out.write(element, call))
    if out is not None and once:
        broadcast_copies(e, out)
    if s.is_counter:
        e.out.line("__threadfence();")


EMITTERS: dict[type, Emitter] = {ins.AtomicAdd: atomic_add}
