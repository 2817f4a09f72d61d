"""Loads and stores: from regions and layouts to addresses, vector widths and predicates.

A thread's elements are met in chunks: runs of neighbours along the memory's last axis, as wide as the
layout, the access units (16 bytes) and the alignment that is proved allow.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.c_family.ctypes_of import memory_bits, memory_type
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.indexing import Chunks, Digit, add, chunks, loops
from dslc.codegen.c_family.memory.widths import is_row, strides, tile_axis, vector_width
from dslc.codegen.c_family.registers import Tile, decode
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Memory, Place, Region, alignment
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.layout import Layout
from dslc.compiler.layout.mode import with_weights


@dataclass(frozen=True, slots=True)
class Access:
    """One region met by one tile's layout, `width` elements at a time."""

    e: Emission
    region: Region
    layout: Layout
    width: int
    runs: Chunks

    @property
    def memory(self) -> Memory:
        """The memory accessed."""
        return self.region.memory

    def coordinate(self, axis: int) -> str:
        """The index along a memory axis of a chunk's first element."""
        a = self.region.axes[axis]
        start = self.e.scalar(a.start)
        if a.dropped:
            return start
        inside = self.inside_tile(axis)
        if a.step != 1 and inside != "0":
            inside = f"({inside}) * {a.step}"
        return add(start, inside)

    def inside_tile(self, axis: int) -> str:
        """The index along an axis of the tile, for a memory axis that is not dropped."""
        k = tile_axis(self.region, axis)
        return add(self.e.bases.base(self.layout, k), self.runs.offset(k))

    def inside(self, axes: int | None = None) -> str:
        """The condition that a chunk is in bounds of the first axes; empty where it is proved."""
        parts = []
        for axis, a in enumerate(self.region.axes[:axes]):
            if a.limit is not None:
                parts.append(f"{self.inside_tile(axis)} < {a.limit}")
            if not a.checked:
                continue
            at = self.coordinate(axis)
            extent = self.e.scalar(self.region.extent(axis))
            if not self.e.not_negative(a.start):
                parts.append(f"({at}) >= 0")
            parts.append(f"{at} < {extent}")
        return " && ".join(parts)

    def address(self) -> str:
        """The offset in elements of a chunk's first element."""
        if self.memory.layout is not None:
            return swizzled_address(
                self.memory.layout, [self.coordinate(a) for a in range(self.memory.rank)]
            )
        shared = self.memory.place is Place.SHARED
        parts = []
        for axis, stride in enumerate(strides(self.memory)):
            at = self.coordinate(axis)
            if at == "0":
                continue
            if stride == ex.index(1):
                parts.append(at)
            elif shared:
                parts.append(f"({at}) * {self.e.scalar(stride)}")
            else:
                parts.append(f"(long long)({at}) * {self.e.scalar(stride)}")
        return add(*parts) if parts else "0"

    def distance(self) -> str | None:
        """How many elements a chunk lies behind the thread's first; None where that is no constant."""
        if self.memory.layout is not None:
            return None
        kept = [axis for axis, a in enumerate(self.region.axes) if not a.dropped]
        every = strides(self.memory)
        steps: list[tuple[Digit, int]] = []
        for digit in self.runs.digits:
            axis = kept[digit.mode.axis]
            step = constant(every[axis])
            if step is None:
                return None
            steps.append((digit, digit.mode.stride * self.region.axes[axis].step * int(step)))
        wide = "LL" if sum(abs(by) * digit.size for digit, by in steps) >= 1 << 31 else ""
        return add(*(f"{digit.var} * {by}{wide}" for digit, by in steps)) if steps else "0"


def access(e: Emission, region: Region, layout: Layout, width: int | None = None) -> Access:
    """Meet a region by a layout; the width is the greatest that is proved, unless given."""
    elements = width if width is not None else vector_width(e, region, layout)
    return Access(e, region, layout, elements, chunks(layout, elements, e.out))


def row_words(e: Emission, found: Access) -> tuple[str, int]:
    """The address of a run of whole bytes of a row, and the bytes that are accessed at once."""
    bits = found.memory.dtype.bits
    size = found.width * bits // 8
    wide = next(n for n in (16, 8, 4, 1) if size % n == 0 and alignment(found.memory) % n == 0)
    return f"{pointer(e, found.memory)} + (long long)({found.address()}) * {bits} / 8", wide


def swizzled_address(layout: Layout, at: list[str]) -> str:
    """The address in a memory of an explicit layout of the element at coordinates."""
    at = list(at)
    for s in reversed(layout.swizzles):  # each undoes itself
        key = f"({at[s.source]}) / {s.source_unit} % {min(s.source_size, s.size)}"
        digit = f"(({at[s.dim]}) / {s.unit} % {s.size})"
        at[s.dim] = f"({at[s.dim]} + (({digit} ^ ({key})) - {digit}) * {s.unit})"
    parts = []
    for mode, weight in with_weights(layout.local_modes):
        text = f"({at[mode.axis]})"
        if mode.stride != 1:
            text = f"{text} / {mode.stride}"
        if mode.stride * mode.size < layout.shape[mode.axis]:
            text = f"{text} % {mode.size}"
        parts.append(f"({text}) * {weight}" if weight != 1 else f"({text})")
    return add(*parts) if parts else "0"


def pointer(e: Emission, memory: Memory) -> str:
    """The C pointer of a memory."""
    return e.memories[memory]


def load(e: Emission, s: ins.Load) -> None:
    """A tile from global or shared memory."""
    tile = e.new(s.out, zero=True)
    source = access(e, s.region, tile.layout)
    fill = "" if s.other is None else e.scalar(s.other)
    with loops(e.out, source.runs):
        inside = source.inside()
        if inside:
            with e.out.block(f"if ({inside})"):
                _load_chunk(e, source, tile)
            if fill:
                with e.out.block("else"), e.out.loop("j", source.width):
                    e.out.line(tile.write(add(source.runs.element, "j"), fill))
        else:
            _load_chunk(e, source, tile)


def _load_chunk(e: Emission, found: Access, tile: Tile) -> None:
    memory = found.memory
    if is_row(memory) and found.width > 1:
        _load_bytes(e, found, tile)
        return
    if is_row(memory):
        raw = f"load_row<{memory.dtype.bits}>({pointer(e, memory)}, {found.address()})"
        e.out.line(set_code(tile, found.runs.element, raw, memory.dtype))
        return
    source = f"{pointer(e, memory)} + {found.address()}"
    move(e, tile, found.runs.element, found.width, source, memory.dtype)


def _load_bytes(e: Emission, found: Access, tile: Tile) -> None:
    """A run of a row, whose bits lie in registers as they do in memory: words, else bytes."""
    bits, element = found.memory.dtype.bits, found.runs.element
    source, wide = row_words(e, found)
    name = e.out.name("row")
    e.out.line(f"const unsigned char* const {name} = {source};")
    for k in range(0, found.width * bits // 8, wide):
        if wide == 1:
            place = add(f"({element}) * {bits} / 8", str(k))
            e.out.line(f"set_bits<8>({tile.name}, {place}, (unsigned){name}[{k}]);")
        else:
            word = add(f"({element}) * {bits} / 32", str(k // 4))
            e.out.line(f"load_global_{wide}(&{tile.name}[{word}], {add(name, str(k))});")


def move(e: Emission, tile: Tile, element: str, width: int, source: str, dtype: DType) -> None:
    """`width` elements from memory into registers, from element number `element`."""
    bits = memory_bits(dtype)
    size = width * bits // 8
    same = bits == dtype.bits or dtype.kind is Kind.BOOL
    if size >= 4 and same and dtype.kind is not Kind.BOOL and tile.words != tile.count:
        word = f"({element}) * {bits} / 32"
        e.out.line(f"load_global_{size}(&{tile.name}[{word}], {source});")
    elif size >= 4 and dtype.bits >= 32:
        e.out.line(f"load_global_{size}((unsigned*)&{tile.name}[{element}], {source});")
    else:
        for j in range(width):
            raw = f"({source})[{j}]"
            e.out.line(set_code(tile, add(element, str(j)), raw, dtype))


def set_code(tile: Tile, i: str, raw: str, dtype: DType) -> str:
    """The statement that puts a storage code into element i."""
    if tile.words == tile.count and dtype.bits >= 32:
        return f"{tile.name}[{i}] = {raw};"
    if dtype.kind is Kind.BOOL:
        return f"{tile.name}[{i}] = {raw} != 0;"
    return f"set_bits<{dtype.bits}>({tile.name}, {i}, (unsigned){raw});"


def store(e: Emission, s: ins.Store) -> None:
    """A tile to global or shared memory."""
    tile = e.tile(s.x)
    target = access(e, s.region, tile.layout)
    once = first_copy(tile.layout)
    mask = None if s.where is None else e.tile(s.where)
    with e.exchanging(target.memory), loops(e.out, target.runs):
        inside = " && ".join(p for p in (once, target.inside()) if p)
        if mask is not None:
            with e.out.block(f"if ({inside})" if inside else ""):
                store_masked(e, target, tile, mask)
        elif inside:
            with e.out.block(f"if ({inside})"):
                store_chunk(e, target, tile)
        else:
            store_chunk(e, target, tile)
    announce(e, s.region.memory)


def store_masked(e: Emission, found: Access, tile: Tile, mask: Tile) -> None:
    """A chunk as a whole where its mask holds for all of it, else its elements one by one."""
    element = found.runs.element
    held = [mask.read(add(element, str(j))) for j in range(found.width)]
    with e.out.block(f"if ({' && '.join(held)})"):
        store_chunk(e, found, tile)
    if found.width > 1:
        with e.out.block("else"):
            for j, one in enumerate(held):
                e.out.line(f"if ({one}) {element_store(e, found, tile, j)}")


def announce(e: Emission, memory: Memory) -> None:
    """What was written to a buffer is for the unit that copies boxes to see, where it sends that."""
    if memory in e.sent:
        e.out.line("fence_async_proxy();")


def first_copy(layout: Layout) -> str:
    """The condition that a thread is the first of those that hold copies; empty without copies."""
    parts = []
    for mode, weight in with_weights(layout.spatial_modes):
        if mode.is_replicated and mode.size > 1:
            whole = weight * mode.size >= layout.threads
            digit = f"tid / {weight}" if weight > 1 else "tid"
            parts.append(f"{digit} == 0" if whole else f"{digit} % {mode.size} == 0")
    return " && ".join(parts)


def store_chunk(e: Emission, found: Access, tile: Tile) -> None:
    """One chunk of a tile, from its registers to memory."""
    dtype = found.memory.dtype
    bits = memory_bits(dtype)
    size = found.width * bits // 8
    to = f"{pointer(e, found.memory)} + {found.address()}"
    element = found.runs.element
    same = bits == dtype.bits or dtype.bits >= 32
    if size >= 4 and same and dtype.kind is not Kind.BOOL:
        if dtype.bits >= 32:
            e.out.line(f"store_{size}({to}, (const unsigned*)&{tile.name}[{element}]);")
        else:
            e.out.line(f"store_{size}({to}, &{tile.name}[({element}) * {bits} / 32]);")
        return
    for j in range(found.width):
        e.out.line(element_store(e, found, tile, j))


def element_store(e: Emission, found: Access, tile: Tile, j: int) -> str:
    """The statement that stores element j of a chunk."""
    to = f"{pointer(e, found.memory)} + {found.address()}"
    raw = code(tile, add(found.runs.element, str(j)))
    return f"({to})[{j}] = ({memory_type(found.memory.dtype)}){raw};"


def code(tile: Tile, i: str) -> str:
    """The storage code of an element."""
    if (tile.words == tile.count and tile.dtype.bits >= 32) or tile.dtype.kind is Kind.BOOL:
        return f"{tile.name}[{i}]"
    bits = f"get_bits<{tile.dtype.bits}>({tile.name}, {i})"
    return decode(bits, tile.dtype) if tile.dtype.is_integer else bits
