"""Fragments: what the lanes of one warp hold of a tile of weights, stored as one piece.

A matrix unit wants weights in pieces that are alike whatever the tile: 16 columns and 16 rows of k over
the 32 lanes of a warp, for products of one warp and of a warpgroup. Stored piece by piece, weights
serve tiles of every size, shared among the warps in any way:

    %q = load @w[k : +512, n : +64] : u4[512, 64]     `spatial(4, 2).local(8, 2)...`, 256 threads
    %q = load @w[k : +64, n : +128] : u4[64, 128]     `spatial(1, 8).local(8, 2)...`, 256 threads

both read fragments of 64 x 16 codes, 16 bytes a lane:

    %b = load @w[k // 64 : +8, n // 16 : +4, 0 : +512] : u8[8, 4, 512]
    %b = load @w[k // 64, n // 16 : +8, 0 : +512] : u8[8, 512]

So one packing serves few rows of activations and many. A fragment is as deep along k, the axis along
which a lane has neighbours, as the loads of its codes and their casts want.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dslc.compiler.analysis.alignment import Divisors, divisor
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import INDEX, U8, Kind
from dslc.compiler.ir import AxisSlice, Memory, Region, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.layout import Layout, Mode, reshape
from dslc.compiler.layout.mode import Modes, coalesce_modes, size_of, split_mode, split_modes
from dslc.compiler.low_bit_format import PackedStorage, storage_for

FRAGMENT_COLUMNS, _LANES = 16, 32
_DEEPEST = 8  # times that k is doubled at most


def fragment_depth(bits: int) -> int:
    """The k of a fragment: a lane's codes are whole words of 4 bytes at any width.

    Single bits go deeper, as one mask takes eight registers' worth of them at a place of a word.
    """
    return 128 if bits == 1 else 64


@dataclass(frozen=True, slots=True)
class Fragments:
    """A tile's layout in fragments: the layout of one, and where they lie.

    `warps` and `places` are the digits of threads above a warp's lanes, and those of a thread's
    fragments, in elements of the tile.
    """

    layout: Layout
    warps: Modes
    places: Modes

    def tiled(self, within: Layout) -> Layout:
        """Over all threads, fragments that lie as `within`, another layout of theirs."""
        shape = [1] * within.rank
        for mode in (*self.warps, *self.places):
            if not mode.is_replicated:
                shape[mode.axis] *= mode.size
        whole = tuple(n * own for n, own in zip(shape, within.shape, strict=True))
        return Layout(
            whole,
            (*self.warps, *within.spatial_modes),
            (*self.places, *within.local_modes),
        )

    def bytes_of(self, within: Layout) -> Layout:
        """Over all threads, the bytes of the tile's fragments, each of which lies as `within`."""
        last = self.layout.rank
        (size,) = within.shape
        inner = [
            tuple(m if m.is_replicated else Mode(m.size, last, m.stride) for m in modes)
            for modes in (within.spatial_modes, within.local_modes)
        ]
        outer = [tuple(map(self._counted, modes)) for modes in (self.warps, self.places)]
        counts = [1] * last
        for mode in (*outer[0], *outer[1]):
            if not mode.is_replicated:
                counts[mode.axis] *= mode.size
        return Layout((*counts, size), (*outer[0], *inner[0]), (*outer[1], *inner[1]))

    def _counted(self, mode: Mode) -> Mode:
        """The digit in fragments."""
        if mode.is_replicated:
            return mode
        return Mode(mode.size, mode.axis, mode.stride // self.layout.shape[mode.axis])


def fragments(layout: Layout, warp: int, bits: int) -> Fragments | None:
    """The fragments of a tile of codes; None where warps share what one of them would hold."""
    parts = split_modes(layout.spatial_modes, warp)
    if layout.swizzles or parts is None or any(m.is_replicated for m in parts[1]):
        return None
    warps, lanes = parts
    shape = [1] * layout.rank
    for mode in lanes:
        shape[mode.axis] = max(shape[mode.axis], mode.stride * mode.size)
    along = next((m.axis for m in layout.local_modes if m.stride == 1 and m.size > 1), None)
    if along is None:
        return None
    split = _split(layout.local_modes, shape)
    if split is None:
        return None
    # The rows or columns of two instructions of eight, or of the larger operand of one; then k.
    across = [axis for axis in range(layout.rank) if axis != along and shape[axis] > 1]
    for axis in (*across, *[along] * _DEEPEST):
        if axis == along and size_of(split[1]) >= fragment_depth(bits) * FRAGMENT_COLUMNS // _LANES:
            break
        shape[axis] *= 2
        larger = _split(layout.local_modes, shape)
        if larger is None or size_of(larger[1]) != 2 * size_of(split[1]):
            shape[axis] //= 2
        else:
            split = larger
    places, own = split
    if any(not m.is_replicated and m.stride % shape[m.axis] for m in warps):
        return None
    # Of two digits that step alike that of k is the upper one, as in the registers of an instruction.
    ordered = sorted(own, key=lambda m: (-m.stride, m.axis != along))
    try:
        one = Layout(tuple(shape), lanes, coalesce_modes(ordered))
    except DiagnosticError:
        return None
    return Fragments(one, warps, places)


def _split(modes: Modes, shape: Sequence[int]) -> tuple[Modes, Modes] | None:
    """The digits of a thread's elements above a fragment of a shape, and those within it."""
    above: list[Mode] = []
    within: list[Mode] = []
    for mode in modes:
        extent = shape[mode.axis]
        if mode.stride * mode.size <= extent:
            within.append(mode)
        elif mode.stride >= extent:
            if mode.stride % extent:
                return None
            above.append(mode)
        else:
            low, rest = divmod(extent, mode.stride)
            if rest or mode.size % low:
                return None
            upper, lower = split_mode(mode, low)
            above.append(upper)
            within.append(lower)
    return tuple(above), tuple(within)


def storage_in_fragments(
    memory: Memory, loads: Sequence[ins.Load], known: Divisors, warp: int
) -> PackedStorage | None:
    """The storage that serves all loads of a parameter; None where their fragments differ."""
    layouts: set[Layout] = set()
    bits = memory.dtype.bits
    for load in loads:
        parts = _of_load(load, warp, bits)
        if parts is None or not _fits(load, parts.layout.shape, known):
            return None
        layouts.add(parts.layout)
    if len(layouts) != 1:
        return None
    (layout,) = layouts
    try:
        return storage_for(layout.shape, bits, layout, signed=memory.dtype.kind is Kind.INT)
    except DiagnosticError:  # a lane has no whole bytes
        return None


def _of_load(load: ins.Load, warp: int, bits: int) -> Fragments | None:
    layout = load.out.type.layout
    if layout is None or layout.threads % warp:
        return None
    shape = tuple(a.size for a in load.region.axes)
    return fragments(reshape(layout, shape), warp, bits)


def _fits(load: ins.Load, shape: Sequence[int], known: Divisors) -> bool:
    """Whether the load takes whole fragments, and code 0 out of bounds."""
    axes = load.region.axes
    if load.other is not None and constant(load.other) != 0 and any(a.checked for a in axes):
        return False
    return all(
        n == 1 or (a.step == 1 and a.size % n == 0 and divisor(a.start, known) % n == 0)
        for a, n in zip(axes, shape, strict=True)
    )


def load_fragments(
    load: ins.Load, region: Region, storage: PackedStorage, warp: int
) -> tuple[Stmt, ...]:
    """A load of codes as one of the bytes of its fragments; `region` is of codes of the new memory."""
    parts = _of_load(load, warp, storage.bits)
    assert parts is not None
    axes = tuple(map(_in_fragments, region.axes, storage.tile))
    whole = AxisSlice(ex.index(0), storage.tile_bytes, checked=False)
    kept = tuple(a.size for a in (*axes, whole) if not a.dropped)
    stored = parts.tiled(storage.layout)
    laid = [reshape(parts.bytes_of(x), kept) for x in (storage.byte_layout, storage.view_layout)]
    name = load.out.name
    taken = TileType(U8, kept, laid[0])
    packed = Value(taken, f"{name}_bytes" if name else "")
    ordered = Value(replace(taken, layout=laid[1]), f"{name}_lanes" if name else "")
    codes = Value(replace(load.out.type, layout=reshape(stored, load.out.type.shape)), "")
    return (
        ins.Load(packed, replace(region, axes=(*axes, whole)), loc=load.loc),
        ins.ConvertLayout(ordered, packed, loc=load.loc),
        ins.View(codes, ordered, loc=load.loc),
        ins.ConvertLayout(load.out, codes, loc=load.loc),
    )


def _in_fragments(axis: AxisSlice, extent: int) -> AxisSlice:
    """The slice of an axis in fragments; one alone leaves no axis."""
    start = axis.start
    if extent > 1:
        start = simplify(ex.Binary("floordiv", start, ex.index(extent), INDEX))
    count = axis.size // extent
    return AxisSlice(start, count, dropped=count == 1, checked=axis.checked)
