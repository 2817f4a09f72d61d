"""Asynchronous copies from global memory to LDS: by the memory unit itself.

A `buffer_load ... lds` takes one address in LDS for the wave, to which the lanes' bytes are written
side by side, and what a lane reads out of bounds lands as zero. A copy whose layout puts its lanes so
(which is proved by enumeration) is made of such loads; any other goes through registers at once.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import prod

import numpy as np
from dslc.codegen.c_family.ctypes_of import memory_bits
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import loops
from dslc.codegen.c_family.memory.accesses import Access, access, first_copy, pointer
from dslc.codegen.c_family.memory.copying import by_elements, widest
from dslc.codegen.c_family.memory.widths import refuse_row
from dslc.codegen.hip.lanes import Lanes
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import Memory, Place, Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.layout import Layout, addresses, local
from dslc.compiler.passes.pipelining.copy_reach import limits
from dslc.compiler.passes.pipelining.linear_copies import linear_layout

_SIZES = (16, 8, 4)  # bytes of a thread's copy through registers
_TOGETHER = 4  # loads whose places in LDS one instruction's offset reaches
_OUTSIDE = "(int)0x80000000"  # beyond every buffer, whatever an instruction adds


Run = tuple[int, int, str]  # the first load, how many, the bytes from one to the next


@dataclass(frozen=True, slots=True)
class Direct:
    """A copy by the memory unit: `size` bytes and `width` elements a lane, and its layout."""

    size: int
    width: int
    layout: Layout

    @property
    def loads(self) -> int:
        """How many loads every wave issues: none for sure where some hold copies of others' work."""
        return self.layout.locals // self.width if self.layout.replication == 1 else 0


def direct(e: Emission, s: ins.CopyAsync) -> Direct | None:
    """How the memory unit makes a copy; None where it cannot."""
    memory = s.dst.memory
    shape = memory_shape(memory)
    whole = all(
        a.dropped or (a.start == ex.index(0) and a.size == n)
        for a, n in zip(s.dst.axes, shape, strict=True)
    )
    padded = any(a.limit is not None for a in s.src.axes)
    if memory.place is not Place.SHARED or not whole or padded or not _reaches(e, s.src):
        return None
    lying = memory.layout if memory.layout is not None else local(*shape)
    dropped = sum(a.dropped for a in s.dst.axes)
    if not all(a.dropped for a in s.dst.axes[:dropped]):
        return None
    for size in e.target.linear_copies:
        width = size * 8 // memory_bits(memory.dtype)
        layout = s.layout or (
            linear_layout(s.dst.shape, None, width, e.threads, e.warp) if width else None
        )
        if layout is None or (memory.layout is not None and s.layout is None):
            continue
        fitting = widest(e, ins.CopyAsync(s.dst, s.src, layout), (size,))
        if fitting is not None and lands_in_order(layout, lying, width, e.warp):
            return Direct(size, width, layout)
    return None


def _reaches(e: Emission, region: Region) -> bool:
    """Whether offsets within a tile are proved to fit in 32 bits."""
    known = (ex.Binary("le", s, ex.index(most), BOOL) for s, most in limits(region))
    return all(e.facts.decide(condition) is True for condition in known)


def memory_shape(memory: Memory) -> tuple[int, ...]:
    """The extents of an on-chip memory."""
    return tuple(int(constant(x) or 0) for x in memory.shape)


@functools.lru_cache(maxsize=64)
def lands_in_order(layout: Layout, memory: Layout, width: int, warp: int) -> bool:
    """Whether the lanes of a warp copy side by side, again behind that, and the next warp after all."""
    used = layout.threads // layout.replication
    if layout.locals % width or used % min(used, warp):
        return False
    at = addresses(layout, memory)[:used].reshape(
        -1, min(used, warp), layout.locals // width, width
    )
    wanted = np.arange(at.size).reshape(at.shape[0], at.shape[2], at.shape[1], width)
    return bool((at.swapaxes(1, 2) == wanted).all())


def copy_async(e: Emission, s: ins.CopyAsync) -> None:
    """Every thread copies its runs; what is out of bounds is filled with zeros."""
    refuse_row(s.src.memory)
    unit = direct(e, s)
    if unit is not None:
        _load_to_lds(e, s, unit)
        return
    copied = widest(e, s, _SIZES)
    if copied is None:
        by_elements(e, s)
        return
    size, width, layout = copied
    to = access(e, s.dst, layout, width)
    source = Access(e, s.src, layout, width, to.runs)
    once = first_copy(layout)
    with loops(e.out, to.runs):
        inside = source.inside()
        target = f"{pointer(e, s.dst.memory)} + {to.address()}"
        origin = f"{pointer(e, s.src.memory)} + {source.address()}"
        call = f"copy_{size}({target}, {origin}, {inside or 'true'});"
        e.out.line(f"if ({once}) {call}" if once else call)


def _load_to_lds(e: Emission, s: ins.CopyAsync, unit: Direct) -> None:
    """The wave's loads: one address of LDS, one of memory, an offset a lane, steps between loads.

    The instruction's own offset counts on both sides, so that several loads share an address of LDS.
    """
    lanes = Lanes(e, s.src, unit.layout, unit.width)
    once = first_copy(unit.layout)
    there = min(e.warp, unit.layout.threads // unit.layout.replication) * unit.size
    with e.out.block(f"if ({once})" if once else ""):
        place = f"{pointer(e, s.dst.memory)} + {_stage(e, s.dst)}"
        wave = f"wave_of(tid) * {there * (unit.layout.locals // unit.width)}"
        e.out.line(f"const unsigned to = lds_address({place}) + {e.bases.named('wave', wave)};")
        runs = list(lanes.runs())
        # What an instruction's own offset adds is taken off where a step is known to be no less; else
        # the buffer begins that much before the tensor, where no lane reads.
        # They add what a whole wave copies.
        shared = there == e.warp * unit.size
        known = all(_at_least(step, there) for _, n, step in runs if n % _TOGETHER == 0)
        apart = [first for first, n, _ in runs if n == 1]
        known = known and (len(apart) < _TOGETHER or _in_order(lanes, apart[:_TOGETHER], there))
        before = 0 if known or not shared else (_TOGETHER - 1) * there
        e.out.line(f"const i32x4 from = {_buffer(lanes, before)};")
        while runs:
            if shared and _together(lanes, runs, there, before):
                loads = [runs.pop(0)[0] for _ in range(_TOGETHER)]
                _four(e, lanes, loads, unit.size, there, before)
            else:
                _run(e, lanes, runs.pop(0), unit.size, there, before)


def _buffer(lanes: Lanes, before: int) -> str:
    if not before:
        return f"buffer_of({lanes.start()}, {lanes.bytes()})"
    return f"buffer_before({lanes.start()}, {lanes.bytes()}, {before})"


def _run(e: Emission, lanes: Lanes, run: Run, size: int, there: int, before: int) -> None:
    """Loads whose places differ by one step for all lanes; the buffer begins `before` them."""
    first, count, step = run
    name = _lane(e, lanes, first)
    fits = before > 0 or (there == e.warp * size and _at_least(step, there))
    together = _TOGETHER if count % _TOGETHER == 0 and fits else 1
    function = f"load_to_lds_{size}" + (f"_by_{together}" if together > 1 else "")
    with e.out.loop("i", count // together):
        to = f"i * {together * there}" + (f" + {first * there}" if first else "")
        by = str(int(step) * together) if step.isdigit() else f"{together} * {step}"
        names = f"{name}, " * together
        more = f", {step}" if together > 1 else ""
        start = f"{before} + " if before else ""
        e.out.line(f"{function}(to, {to}, from, {names}{start}i * {by}{more});")


def _together(lanes: Lanes, runs: list[Run], there: int, before: int) -> bool:
    """Whether the next loads are single ones that one address of LDS may serve."""
    loads = [first for first, count, _ in runs[:_TOGETHER] if count == 1]
    return len(loads) == _TOGETHER and (before > 0 or _in_order(lanes, loads, there))


def _in_order(lanes: Lanes, loads: list[int], there: int) -> bool:
    """Whether offsets are known to be no less than the instruction's own."""
    return all(lanes.least(load) >= k * there for k, load in enumerate(loads))


def _four(e: Emission, lanes: Lanes, loads: list[int], size: int, there: int, before: int) -> None:
    """Loads with an offset of the lane each, less what the instruction adds to it."""
    names = [_lane(e, lanes, load) for load in loads]
    if not before:
        names = [f"{name} - {k * there}" if k else name for k, name in enumerate(names)]
    given, step = ", ".join(names), 0 if before else there
    to = f"to, {loads[0] * there}"
    e.out.line(f"load_to_lds_{size}_by_4({to}, from, {given}, {before}, {step});")


def _lane(e: Emission, lanes: Lanes, load: int) -> str:
    """The variable of a lane's offset in one load, out of the buffer where it has nothing to read."""
    at, inside = lanes.offset(load), lanes.inside(load)
    if not inside:
        return at
    name = e.out.name("lane")
    e.out.line(f"const int {name} = {inside} ? {at} : {_OUTSIDE};")
    return name


def _at_least(step: str, least: int) -> bool:
    """Whether a step is known and no less: then what it is beyond that is an offset."""
    return step.isdigit() and int(step) >= least


def _stage(e: Emission, region: Region) -> str:
    """The elements before a tile that has its memory, or a stage of it, for itself."""
    memory = region.memory
    layout = memory.layout if memory.layout is not None else local(*memory_shape(memory))
    tile = prod(region.shape)
    stage = "0"
    for a, extent in zip(region.axes, layout.shape, strict=True):
        if a.dropped and extent > 1:
            at = e.scalar(a.start)
            stage = at if stage == "0" else f"({stage} * {extent} + {at})"
    return "0" if stage == "0" else f"({stage}) * {tile}"


EMITTERS: dict[type, Emitter] = {ins.CopyAsync: copy_async}
