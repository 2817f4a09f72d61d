"""Atomic updates."""

from __future__ import annotations

from dslc.codegen.c_family.ctypes_of import memory_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.through_shared import broadcast_copies
from dslc.codegen.c_family.indexing import loops
from dslc.codegen.c_family.memory.accesses import access, first_copy, pointer
from dslc.codegen.c_family.memory.gathers import places
from dslc.codegen.c_family.memory.widths import vector_width
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.scalars import unsupported
from dslc.compiler.ir import instructions as ins

_PAIRS = ("f16", "bf16")
_WORDS = frozenset({*(f"{s}{n}" for s in "iu" for n in (32, 64)), "f32", "f64"})
_ADDED = _WORDS | {*(f"{s}{n}" for s in "iu" for n in (8, 16)), *_PAIRS}


def atomic_rmw(e: Emission, s: ins.AtomicRmw) -> None:
    """Each element updated atomically; halves are added two at a time where they share a word."""
    tile = e.tile(s.x)
    dtype = s.region.memory.dtype
    if dtype.name not in (_ADDED if s.op == "add" else _WORDS):
        raise unsupported(f"atomic updates of {dtype}", "use an i32 or f32 tensor")
    plain = s.op == "add" and s.out is None and not s.ids
    paired = plain and dtype.name in _PAIRS and vector_width(e, s.region, tile.layout) > 1
    if s.ids:
        at = places(e, s, tile)
        runs, address, within = at.runs, at.address, at.inside
    else:
        target = access(e, s.region, tile.layout, 2 if paired else 1)
        runs, address, within = target.runs, target.address(), target.inside()
    out = e.new(s.out, zero=True) if s.out is not None else None
    once = first_copy(tile.layout)
    if s.is_counter:  # a counter orders what the block wrote before and reads after
        e.out.line("__threadfence();")
        e.barrier()
    with e.exchanging(s.region.memory), loops(e.out, runs):
        inside = " && ".join(p for p in (once, within) if p) or "true"
        with e.out.block(f"if ({inside})"):
            to = f"{pointer(e, s.region.memory)} + {address}"
            if paired:
                call = f"atomic_add_{dtype.name}x2({to}, {tile.name}[({runs.element}) / 2])"
            else:
                call = _call(e, s, to, tile, runs.element)
            e.out.line(f"{call};" if out is None else out.write(runs.element, call))
    if out is not None and once:
        broadcast_copies(e, out)
    if s.is_counter:
        e.out.line("__threadfence();")


def _call(e: Emission, s: ins.AtomicRmw, to: str, tile: Tile, element: str) -> str:
    """The function of one element."""
    dtype = s.region.memory.dtype
    if s.op == "add":
        return f"atomic_add_{dtype.name}({to}, {tile.read(element)})"
    number = memory_type(dtype)
    given = [tile, *([] if s.expected is None else [e.tile(s.expected)])]
    operands = ", ".join(f"({number}){t.read(element)}" for t in given)
    word = "unsigned" if dtype.bits == 32 else "unsigned long long"
    if s.op in ("max", "min") and dtype.is_integer:
        return f"atomic_{s.op}({to}, {operands})"
    return f"atomic_{s.op}{'_float' if s.op in ('max', 'min') else ''}<{word}>({to}, {operands})"


EMITTERS: dict[type, Emitter] = {ins.AtomicRmw: atomic_rmw}
