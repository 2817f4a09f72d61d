"""What layouts cost, in cycles of one multiprocessor: an estimate to choose by, not to promise.

Rates: 128 lanes issue and shared memory moves 128 bytes in a cycle (CUDA C++ Programming Guide,
arithmetic instructions and shared memory); the level-2 cache gives a multiprocessor about 21 bytes a
cycle in sectors of 32 (the H200's ceilings divided by its 132 multiprocessors).
"""

from __future__ import annotations

from math import gcd, log2, prod

from dslc.compiler.layout import (
    Conversion,
    Layout,
    column_spatial,
    conversion,
    divisible,
    spatial,
)
from dslc.compiler.layout.conversions import shared_axis
from dslc.compiler.layout.mode import with_weights
from dslc.compiler.layout.neighbours import neighbours_last

LANES = 128
SHARED_BYTES = 128
SECTOR = 32
BYTE = 8  # bits of elements that are stored turned a word at a time
SECTOR_CYCLES = 1.5
BARRIER = 100  # with what the slowest warp makes the others wait
_FEWEST = 2.0  # cycles of an access to shared memory by a warp of 64 lanes
_CONFLICTS = 2  # cycles that an access to shared memory takes when the layouts have no swizzle
_PART_OF_BYTE = 6  # instructions that find the bits of an element in a byte, and put them in a word
_EQUAL = 1e-3  # of a cycle: what decides between equals
_ATOMIC = 8  # of a store
_SWIZZLED_ROWS = 8  # of shared memory, which lie in banks of their own
_RENAMED = 0.25  # of an instruction for each word that changes its place in registers
_SHUFFLES = 2  # instructions for each word that changes its lane
_WIDEST = 4  # words of a lane that one access gives, `ldmatrix` too
_ADDRESSED = 64  # lane-instructions of an access beyond the fewest: itself and its address
_FRAGMENTS = {
    8: (spatial(8, 4).local(1, 4),),
    16: (spatial(8, 4).local(1, 2), column_spatial(4, 8).local(2, 1)),
}
SLOW_OPS = frozenset([
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "div",
    "floordiv", "mod", "pow",
])  # fmt: skip


def words(layout: Layout, bits: int) -> float:
    """The 32-bit registers that the tile takes over all threads."""
    return layout.threads * max(1, layout.locals * bits / 32)


def arithmetic(layout: Layout, bits: int, op: str = "") -> float:
    """An elementwise instruction: copies are computed again, 16-bit floats go in pairs."""
    elements = layout.threads * layout.locals
    if op in SLOW_OPS:
        return 8 * elements / LANES
    return elements / LANES * (0.5 if bits == 16 else 1)


def converted(source: Layout, target: Layout, bits: int, warp: int) -> float:
    """Bringing a tile from one layout to another: registers, then shuffles, then shared memory."""
    match conversion(source, target, warp):
        case Conversion.NONE:
            return 0.0
        case Conversion.REGISTERS:
            return words(target, bits) / LANES * _RENAMED
        case Conversion.SHUFFLE:
            return words(target, bits) / warp * _SHUFFLES
        case Conversion.SHARED:
            return exchanged(source, target, bits)


def exchanged(source: Layout, target: Layout, bits: int) -> float:
    """A tile through shared memory: written once, read by each that wants it, between barriers."""
    written = source.elements * max(bits, 8) / 8
    # Elements that share bytes are stored and loaded one by one.
    parts = 2 * source.elements * _PART_OF_BYTE / LANES if bits < 8 else 0.0
    return 2 * BARRIER + (written + 4 * words(target, bits)) / SHARED_BYTES * _CONFLICTS + parts


def loaded(layout: Layout, bits: int, axis: int | None, warp: int, *, staged: bool) -> float:
    """A tile from global memory whose contiguous axis is `axis`.

    Sectors that several accesses touch come from the level-1 cache. A load that may be `staged` goes
    through shared memory by asynchronous copies where that is cheaper; `ldmatrix` reads fragments
    there, whichever of their axes is the contiguous one.
    """
    sectors = layout.elements * bits / 8 / SECTOR * SECTOR_CYCLES
    accesses, touched = _accesses(layout, bits, axis, warp)
    narrow = max(0.0, accesses - words(layout, bits) / warp / _WIDEST) * _ADDRESSED / LANES
    if layout.threads * layout.locals * bits / (accesses * warp) % 8:
        narrow += accesses * _PART_OF_BYTE * warp / LANES
    direct = accesses * max(1.0, touched / 4) + narrow
    if staged:
        moved = layout.elements * bits / 8 + 4 * words(layout, bits)
        fragments = layout.rank == 2 and is_fragments(layout, bits)
        direct = min(direct, moved / SHARED_BYTES + (0.0 if fragments else narrow))
    return sectors + direct


def is_fragments(layout: Layout, bits: int) -> bool:
    """Whether `ldmatrix` reads a tile of such a layout: 16-bit elements in either order."""
    return any(divisible(layout, atom) for atom in _FRAGMENTS.get(bits, ()))


def read_by_lanes(layout: Layout, bits: int, axis: int | None, warp: int) -> float:
    """A tile that comes to shared memory, of which each lane reads what it has in runs of its own.

    Runs need not be in the order of its registers: 16-bit elements are put there in pairs.
    """
    sectors = layout.elements * bits / 8 / SECTOR * SECTOR_CYCLES
    ordered = layout if axis is None else neighbours_last(layout, axis)
    accesses, _ = _accesses(ordered, bits, axis, warp)
    each = layout.threads / warp * layout.locals / accesses * bits / 8 * warp / SHARED_BYTES
    turned = 0.0 if ordered == layout else words(layout, bits) / LANES
    return (
        sectors + layout.elements * bits / 8 / SHARED_BYTES + accesses * max(_FEWEST, each) + turned
    )


def stored(
    layout: Layout, bits: int, axis: int | None, warp: int, *, shares_bytes: bool = False
) -> float:
    """A tile to global memory: one copy of each element, a sector each time it is touched.

    Where elements share bytes, a thread stores those that fill none by atomic operations.
    """
    accesses, touched = _accesses(layout, bits, axis, warp)
    if shares_bytes and layout.threads * layout.locals * bits / (accesses * warp) % 8:
        return accesses * _ATOMIC * max(1.0, touched * SECTOR_CYCLES)
    warps = layout.threads // warp
    copies = gcd(layout.replication, warps)
    # Of equals the one with fewer instructions.
    return accesses / copies * (max(1.0, touched * SECTOR_CYCLES) + _EQUAL)


def stored_in_bulk(layout: Layout, bits: int) -> float:
    """A tile through shared memory and by a unit of the machine."""
    moved = layout.elements * bits / 8
    return 2 * BARRIER + moved / SHARED_BYTES * 2 + moved / SECTOR * SECTOR_CYCLES


def placed(layout: Layout, bits: int, turned: bool, warp: int) -> float:
    """A computed tile to shared memory, where a unit reads it, then a barrier.

    Copies are not stored, but cost as much: they were computed for nothing.
    """
    axis = 0 if turned else 1
    meeting = _CONFLICTS
    if turned and bits == BYTE:
        layout = neighbours_last(layout, axis)
        meeting = max(meeting, _meeting(layout, warp))
    accesses, _ = _accesses(layout, bits, axis, warp)
    moved = layout.elements * bits / 8 / SHARED_BYTES
    return BARRIER + max(moved, accesses) * meeting


def _meeting(layout: Layout, warp: int) -> int:
    """How many lanes of a store meet in the same banks: those of rows a whole swizzle apart."""
    return prod(
        min(mode.size, warp // weight)
        for mode, weight in with_weights(layout.spatial_modes)
        if mode.axis == 1 and weight < warp and mode.stride % _SWIZZLED_ROWS == 0
    )


def packed_load(layout: Layout, bits: int, warp: int) -> float:
    """A tile of weights that are stored in this very layout, each thread's bits in one piece."""
    held = layout.locals * bits
    if held % 8:
        return 8 * loaded(layout, bits, None, warp, staged=False)
    width = gcd(held // 8, 16)
    accesses = layout.threads / warp * (held / 8 / width)
    once = layout.elements * bits / 8 / SECTOR * SECTOR_CYCLES
    return once + accesses * max(1.0, warp * width / SHARED_BYTES)


def reduction(x: Layout, natural: Layout, out: Layout, axis: int, warp: int) -> float:
    """Within threads, then lanes by shuffles, then warps through shared memory.

    `natural` is what follows from the operand's layout; warps hand the result out as `out`.
    """
    lanes, warps = shared_axis(x, axis, warp)
    cycles = x.threads * x.locals / LANES
    cycles += log2(lanes) * natural.locals * x.threads / warp * 2 if lanes > 1 else 0
    if warps > 1:  # every thread writes what it has, and reads of all warps what it wants
        moved = natural.threads * natural.locals + warps * out.threads * out.locals
        cycles += 2 * BARRIER + 4 * moved / SHARED_BYTES
    return cycles


def product_without_unit(m: int, n: int, k: int, out: Layout) -> float:
    """A Dot by multiply-adds of single elements, its operands through shared memory."""
    copies = out.replication
    return 2 * BARRIER + 3.0 * m * n * k * copies / LANES


def _accesses(layout: Layout, bits: int, axis: int | None, warp: int) -> tuple[float, float]:
    """Warp-wide accesses of a tile, and the sectors that one touches."""
    run = 1
    for mode in reversed(layout.local_modes):
        if mode.axis != axis or mode.stride != run:
            break
        run *= mode.size
    vector = gcd(run, max(1, 128 // bits))
    accesses = layout.threads / warp * layout.locals / vector
    span, apart = vector, 1
    for mode, weight in reversed(with_weights(layout.spatial_modes)):
        if weight >= warp:
            break
        size = min(mode.size, warp // weight)
        if mode.is_replicated:
            continue
        if mode.axis == axis and mode.stride == span:
            span *= size
        else:
            apart *= size
    return accesses, apart * max(1.0, span * bits / 8 / SECTOR)
