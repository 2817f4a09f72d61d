"""Stores to rows of elements that share bytes (`packed row`).

    y[n : n + 256] = q      # u4, 32 elements a thread, each thread's from a multiple of 32 on:
    store_16(y + (n + tid * 32) * 4 / 8, &q[0]);

The bits of a run of neighbours lie in a thread's registers as they do in memory. Where a run is proved
to begin and end with a byte, its words or bytes are stored as they are. Else `store_row` finds its
place at run time: words that are the run's alone are stored, of the others only its bits are changed,
by atomic operations, so that neither threads nor turns disturb each other.
"""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.indexing import add, fastest_run, loops
from dslc.codegen.c_family.memory import accesses
from dslc.codegen.c_family.memory.accesses import Access, access, first_copy, pointer, row_words
from dslc.codegen.c_family.memory.widths import is_row, row_run, tile_axis
from dslc.codegen.c_family.registers import Tile
from dslc.compiler.ir import Memory
from dslc.compiler.ir import instructions as ins

_LONGEST = 32  # elements of a run that is placed at run time: their words are in registers


def store(e: Emission, s: ins.Store) -> None:
    """A tile to global or shared memory, elements that share bytes among them."""
    if not is_row(s.region.memory):
        accesses.store(e, s)
        return
    tile, region, bits = e.tile(s.x), s.region, s.region.memory.dtype.bits
    last = region.axes[-1]
    run = whole = 1
    mask = None if s.where is None else e.tile(s.where)
    if mask is None and not last.dropped and last.step == 1:
        run = fastest_run(tile.layout, tile_axis(region, len(region.axes) - 1))
        whole = row_run(e, region, tile.layout)
    in_bytes = whole * bits % 8 == 0
    width = whole if in_bytes else next(n for n in range(min(run, _LONGEST), 0, -1) if run % n == 0)
    target = access(e, region, tile.layout, width)
    once = first_copy(tile.layout)
    with loops(e.out, target.runs):
        axes = len(region.axes) if in_bytes else len(region.axes) - 1
        held = "" if mask is None else mask.read(target.runs.element)
        inside = " && ".join(p for p in (once, target.inside(axes), held) if p)
        with e.out.block(f"if ({inside})" if inside else ""):
            if in_bytes:
                _store_bytes(e, target, tile)
            else:
                _store_bits(e, target, tile)


def _store_bytes(e: Emission, found: Access, tile: Tile) -> None:
    """Words as wide as they come, else bytes."""
    bits = found.memory.dtype.bits
    name, element = e.out.name("row"), found.runs.element
    to, wide = row_words(e, found)
    e.out.line(f"unsigned char* const {name} = {to};")
    for k in range(0, found.width * bits // 8, wide):
        if wide == 1:
            code = f"get_bits<8>({tile.name}, {add(f'({element}) * {bits} / 8', str(k))})"
            e.out.line(f"{name}[{k}] = (unsigned char){code};")
        else:
            word = add(f"({element}) * {bits} / 32", str(k // 4))
            e.out.line(f"store_{wide}({add(name, str(k))}, &{tile.name}[{word}]);")


def _store_bits(e: Emission, found: Access, tile: Tile) -> None:
    """A run whose place is known at run time, and of it what is in bounds of the last axis."""
    number = len(found.region.axes) - 1
    axis = found.region.axes[number]
    low, high = "0", str(found.width)
    if axis.limit is not None:
        high = f"imin<long long>({high}, {axis.limit} - ({found.inside_tile(number)}))"
    if axis.checked:
        at = found.coordinate(number)
        extent = e.scalar(found.region.extent(number))
        high = f"imin<long long>({high}, (long long){extent} - ({at}))"
        if not e.not_negative(axis.start):
            low = f"imax<long long>(0, -(long long)({at}))"
    text = store_codes(
        e, found.memory, found.width, found.address(), tile, found.runs.element, low, high
    )
    e.out.line(text)


def store_codes(
    e: Emission,
    memory: Memory,
    count: int,
    address: str,
    tile: Tile,
    element: str,
    low: str = "0",
    high: str = "1",
) -> str:
    """A call that stores elements [low, high) of a run of registers to the row from `address` on."""
    to = f"{pointer(e, memory)}, {address}"
    run = f"{memory.dtype.bits}, {count}"
    return f"store_row<{run}>({to}, {tile.name}, {element}, {low}, {high});"
