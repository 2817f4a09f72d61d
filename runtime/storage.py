"""How the codes of a low-bit tensor are stored, as an artifact describes it.

Two schemes. `row`: the codes in row-major order, bits one after another. `tiles`: the tensor is cut
into tiles; the codes of a tile stand in the order in which the threads hold them, each thread's bits
are whole bytes, and these are dealt out in words, the first word of every thread, then the second, ...
so that neighbouring threads load neighbouring words. With several lanes a thread's bits are cut into as
many parts, which its 32-bit words hold side by side. The compiler writes the description
(`dslc.compiler.low_bit_format.PackedStorage.to_data`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from dslc.compiler.diagnostics import error

_LARGEST_TILE = 1 << 30  # bytes


@dataclass(frozen=True, slots=True)
class Rows:
    """The scheme `row`."""

    bits: int
    signed: bool

    def shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """The shape of the uint8 array that stores a tensor of these extents."""
        return ((prod(extents) * self.bits + 7) // 8,)

    def __str__(self) -> str:
        return f"rows of {self.bits} bits"


@dataclass(frozen=True, slots=True)
class Tiles:
    """The scheme `tiles`."""

    bits: int
    signed: bool
    modes: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    thread_bytes: int
    word_bytes: int
    lanes: int

    @property
    def tile(self) -> tuple[int, ...]:
        """The extents of a tile."""
        return tuple(prod(sizes) for sizes in self.modes)

    @property
    def tile_bytes(self) -> int:
        """The bytes that store a tile."""
        return prod(self.tile) * self.bits // 8

    @property
    def threads(self) -> int:
        """How many threads hold a tile together."""
        return self.tile_bytes // self.thread_bytes

    def counts(self, extents: Sequence[int]) -> tuple[int, ...]:
        """How many tiles there are along each axis."""
        return tuple(-(-n // t) for n, t in zip(extents, self.tile, strict=True))

    def split(self, counts: Sequence[int]) -> tuple[list[int], list[int]]:
        """The sizes of all digits of the padded tensor, and their order in storage."""
        sizes: list[int] = []
        outer: list[int] = []
        inner: list[int] = []
        for count, modes in zip(counts, self.modes, strict=True):
            outer.append(len(sizes))
            inner += range(len(sizes) + 1, len(sizes) + 1 + len(modes))
            sizes += [count, *modes]
        return sizes, outer + [inner[i] for i in self.order]

    def shape(self, extents: Sequence[int]) -> tuple[int, ...]:
        """The shape of the uint8 array that stores a tensor of these extents."""
        return (*self.counts(extents), self.tile_bytes)

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.tile))
        lanes = f", {self.lanes} lanes" if self.lanes > 1 else ""
        return f"tiles of {shape} of {self.bits} bits in {self.word_bytes}-byte words{lanes}"


def read_storage(data: Mapping[str, Any]) -> Rows | Tiles:
    """The storage that is described; DSL0802 where it is none: a manifest may be a stranger's."""
    try:
        storage = _read(data)
    except (KeyError, TypeError, ValueError, OverflowError):
        storage = None
    if storage is None or not _is_sound(storage):
        raise error("DSL0802", f"{str(dict(data))[:200]} describes no packed storage")
    return storage


def _read(data: Mapping[str, Any]) -> Rows | Tiles | None:
    bits, signed = int(data["bits"]), bool(data["signed"])
    if data["scheme"] == "row":
        return Rows(bits, signed)
    if data["scheme"] != "tiles":
        return None
    return Tiles(
        bits,
        signed,
        tuple(tuple(int(n) for n in sizes) for sizes in data["modes"]),
        tuple(int(i) for i in data["order"]),
        int(data["thread_bytes"]),
        int(data["word_bytes"]),
        int(data.get("lanes", 1)),
    )


def _is_sound(found: Rows | Tiles) -> bool:
    """Whether no byte is read that is not there."""
    if not 1 <= found.bits <= 8 or isinstance(found, Rows):
        return 1 <= found.bits <= 8
    factors = sum(len(sizes) for sizes in found.modes)
    return (
        len(found.modes) > 0
        and all(n >= 1 for sizes in found.modes for n in sizes)
        and sorted(found.order) == list(range(factors))
        and found.thread_bytes >= 1
        and found.word_bytes >= 1
        and found.thread_bytes % found.word_bytes == 0
        and prod(found.tile) * found.bits % 8 == 0
        and found.tile_bytes <= _LARGEST_TILE
        and found.tile_bytes % found.thread_bytes == 0
        and found.lanes in (1, 2, 4)
        and (found.lanes == 1 or found.thread_bytes % 4 == 0)
    )
