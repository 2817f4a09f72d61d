"""Low-bit storage: a tile whose threads' bits lie in memory as whole wide words.

The Tilus paper, section 6.2. A tile of elements of b bits with layout L over T threads gives each
thread m elements, m * b bits. Written one after another, little-endian, these are n = m * b / 8 bytes,
which go to memory as the u8 tile

    local(n2).spatial(T).local(n1)      n1 = gcd(n, 16), n2 = n / n1

so that each thread loads n2 words of n1 bytes and neighbours load neighbouring words. A `view` then
makes the bytes the low-bit tile again at no cost. Threads that hold copies read the same bytes.

*Lanes.* A GPU computes on words of 32 bits that hold two halves or four bytes. With `lanes` = 2 the
bits of a thread's first half of elements go to the lower halves of its words and those of the second
half to the upper ones; with 4 each quarter goes to a byte. One mask then takes two (four) elements at
once to where they are computed on. `interleaved` gives the order of elements in which those that one
word of results holds lie so. A thread's bytes are brought in the order of the view by a conversion
between register layouts, which generators carry out on paper.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.layout import Layout, Mode, local, reshape, spatial
from dslc.compiler.layout.mode import Modes, replicated, size_of, split_modes

WORD_BYTES = 16  # the widest load of a thread


@dataclass(frozen=True, slots=True)
class PackedStorage:
    """How a tensor of `bits`-bit codes is stored: tile by tile, each in the order of a layout.

    A tensor of shape [K, ...] becomes u8[cdiv(K, tile[0]), ..., tile_bytes]; where a tile reaches past
    the tensor it is filled with code 0, which is the number 0 in every low-bit dtype. `layout` has the
    shape `tile` and no swizzle, and each of its threads holds whole bytes; with several `lanes`, whole
    words of 4 bytes.
    """

    bits: int
    signed: bool
    tile: tuple[int, ...]
    layout: Layout
    lanes: int = 1

    @property
    def threads(self) -> int:
        """The threads with elements of their own."""
        return self.layout.threads // self.layout.replication

    @property
    def thread_bytes(self) -> int:
        """The bytes of one thread in one tile."""
        return self.layout.locals * self.bits // 8

    @property
    def word_bytes(self) -> int:
        """The bytes that a thread loads at once."""
        return gcd(self.thread_bytes, WORD_BYTES)

    @property
    def tile_bytes(self) -> int:
        """The bytes of one tile."""
        return self.threads * self.thread_bytes

    @property
    def byte_layout(self) -> Layout:
        """The layout of a tile's bytes over the threads of `layout`."""
        spatial_modes: list[Mode] = []
        stride = self.word_bytes
        for mode in reversed(self.layout.spatial_modes):
            if mode.is_replicated:
                spatial_modes.append(replicated(mode.size))
            else:
                spatial_modes.append(Mode(mode.size, 0, stride))
                stride *= mode.size
        words = Mode(self.thread_bytes // self.word_bytes, 0, self.threads * self.word_bytes)
        inner = Mode(self.word_bytes, 0, 1)
        return Layout((self.tile_bytes,), tuple(reversed(spatial_modes)), (words, inner))

    @property
    def view_layout(self) -> Layout:
        """The layout of a tile's bytes in which they are viewed: one lane's bytes after the other's."""
        loaded = self.byte_layout
        if self.lanes == 1:
            return loaded
        run = 4 // self.lanes
        above, low = _split(loaded.local_modes, run)
        rest, lane = _split(above, self.lanes)
        return Layout(loaded.shape, loaded.spatial_modes, (*lane, *rest, *low))

    def shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """The shape of the u8 array that stores a tensor of these extents."""
        return (*(-(-n // t) for n, t in zip(extents, self.tile, strict=True)), self.tile_bytes)

    def to_data(self) -> dict[str, Any]:
        """What `dslc.runtime.packing` needs, as plain data.

        `modes` are the factors of each axis of a tile, `order` the order of all those factors in which
        the codes of a tile follow each other: the threads', then those within a thread.
        """
        own = tuple(m for m in self.layout.spatial_modes if not m.is_replicated)
        ordered = (*own, *self.layout.local_modes)
        flat = sorted(ordered, key=lambda m: (m.axis, -m.stride))
        return {
            "scheme": "tiles",
            "bits": self.bits,
            "signed": self.signed,
            "modes": [[m.size for m in flat if m.axis == d] for d in range(len(self.tile))],
            "order": [flat.index(m) for m in ordered],
            "thread_bytes": self.thread_bytes,
            "word_bytes": self.word_bytes,
            "lanes": self.lanes,
        }


def storage_for(
    tile: Sequence[int], bits: int, layout: Layout, *, signed: bool = False, lanes: int = 1
) -> PackedStorage:
    """The storage of tiles that are viewed as `layout`, whose shape is `tile` up to axes of extent 1.

    DSL0320 where a thread's bits are not whole bytes (with several lanes, words), or where a swizzle
    scatters them.
    """
    if layout.swizzles:
        raise error("DSL0320", f"{layout} has a swizzle: the bits of a thread are not in one order")
    if lanes not in (1, 2, 4):
        raise error("DSL0320", f"a word has 1, 2 or 4 lanes, not {lanes}")
    shaped = reshape(layout, tile)
    total = shaped.locals * bits
    if total % 8:
        raise error(
            "DSL0320",
            f"{layout} holds {shaped.locals} elements of {bits} bits in each thread: {total} bits are "
            "not whole bytes",
            hint=f"give each thread a multiple of {8 // gcd(bits, 8)} elements",
        )
    if lanes > 1 and total % 32:
        raise error("DSL0320", f"{layout} holds {total} bits in each thread, not whole words of 32")
    return PackedStorage(bits, signed, tuple(tile), shaped, lanes)


class ByteForm(enum.Enum):
    """A float of 8 bits that f16 is made of in one instruction for two."""

    E5M2 = "f8e5m2"  # the upper byte of an f16
    E4M3 = "f8e4m3"  # what machines with products of such floats convert

    @property
    def mantissa(self) -> int:
        """Its bits of mantissa."""
        return 2 if self is ByteForm.E5M2 else 3

    @property
    def bias(self) -> int:
        """Its exponent's bias."""
        return 15 if self is ByteForm.E5M2 else 7


def byte_form(dtype: DType, to: DType) -> ByteForm | None:
    """The 8-bit float whose fields can hold those of a small one, and its infinities and NaN.

    To bf16 only the two 8-bit floats themselves go so, which become f16 first.
    """
    if to.name in ("f16", "bf16") and dtype.name in ("f8e4m3", "f8e5m2"):
        return ByteForm(dtype.name)
    if dtype.kind is not Kind.FLOAT or dtype.bits > 8 or to.name != "f16":
        return None
    if dtype.mantissa <= 2 and (dtype.exponent < 5 or dtype.name == "f6e5m0"):
        return ByteForm.E5M2
    return ByteForm.E4M3 if dtype.mantissa == 3 and dtype.exponent < 4 else None


def lanes_for(dtype: DType, to: DType, *, f8: bool) -> int:
    """In how many lanes codes are stored that are cast: those of results, or bytes on the way there.

    `f8` says that the machine converts f8e4m3.
    """
    form = byte_form(dtype, to)
    if form is ByteForm.E5M2 or (form is ByteForm.E4M3 and f8):
        return 4
    if dtype.bits == 4 and to.bits == 8 and to.kind is Kind.FLOAT:
        return 1  # nibbles in a row ask a table
    return 32 // to.bits if to.bits in (8, 16) else 1


# How many codes of these widths have places of their own in a half, as storage in lanes deals them.
_DEALT = {1: 8, 2: 4, 3: 8, 4: 2}
_FRAGMENT = 4  # registers of a lane in the larger operand of a matrix instruction


def interleaved(layout: Layout, bits: int, lanes: int) -> Layout | None:
    """The order in which a thread's elements are stored in lanes; None where they do not divide.

    Elements that follow each other in `layout` go to different lanes. Of codes that divide a half, the
    words of results are also dealt so that those of one matrix instruction lie at distances that are
    multiples of its registers: what masks at the same place leave then belongs together. Rows of an
    instruction that are eight apart, as those of its larger operand, have places of their own. Codes of
    3 bits lie across words, but those eight apart, 24 bits, may have the same place.
    """
    modes = layout.local_modes
    if layout.swizzles or layout.locals * bits % 32 or layout.locals % lanes:
        return None
    parts = split_modes(modes, lanes)
    if parts is None:
        return None
    words, lane = parts
    classes = _DEALT.get(bits, 1) if lanes == 2 else 1
    if classes > 1 and (halves := split_modes(words, _FRAGMENT)) is not None:
        above, register = halves
        rows: Modes = ()
        if register[-1].axis != lane[-1].axis and (parts := split_modes(register, 2)) is not None:
            register, rows = parts
        deep = classes // size_of(rows)
        if size_of(above) % deep == 0 and (dealt := split_modes(above, deep)) is not None:
            words = (*dealt[0], *register, *dealt[1], *rows)
    return Layout(layout.shape, layout.spatial_modes, (*lane, *words))


def _split(modes: Modes, low: int) -> tuple[Modes, Modes]:
    parts = split_modes(modes, low)
    assert parts is not None, "the words of a thread are powers of two"
    return parts


def default_layout(tile: Sequence[int], bits: int, threads: int) -> Layout | None:
    """A layout of the tile with whole bytes in each of at most `threads` threads.

    Each thread holds a row-major run, over as many threads as possible. None where not even one thread
    has whole bytes.
    """
    elements = prod(tile)
    for count in range(min(threads, elements), 0, -1):
        if elements % count or elements // count * bits % 8:
            continue
        try:
            return reshape(spatial(count) * local(elements // count), tile)
        except DiagnosticError:  # a run ends within a row: try fewer threads
            continue
    return None
