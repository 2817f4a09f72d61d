"""Packing low-bit codes at a call, from an artifact's description, with NumPy alone.

Two schemes. `row`: the codes in row-major order, bits one after another. `tiles`: the tensor is cut
into tiles; the codes of a tile stand in the order in which the threads hold them, each thread's bits
are whole bytes, and these are dealt out in words, the first word of every thread, then the second, ...
so that neighbouring threads load neighbouring words. With several lanes a thread's bits are cut into as
many parts, which its 32-bit words hold side by side. The compiler writes the description
(`dslc.compiler.lowbit.PackedStorage.to_data`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_WORD = np.dtype("<u8")
_THREADS = 16
_CHUNK = 1 << 22  # codes at a time: the copies of a step stay small beside the tensor


@dataclass(frozen=True, slots=True)
class _Tiles:
    """A checked description of the scheme `tiles`."""

    bits: int
    signed: bool
    modes: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    thread_bytes: int
    word_bytes: int
    lanes: int

    @property
    def tile(self) -> tuple[int, ...]:
        return tuple(prod(sizes) for sizes in self.modes)

    @property
    def tile_bytes(self) -> int:
        return prod(self.tile) * self.bits // 8

    @property
    def threads(self) -> int:
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


def packed_shape(storage: Mapping[str, Any], extents: Sequence[int]) -> tuple[int, ...]:
    """The shape of the uint8 array that stores a tensor of these extents."""
    if _scheme(storage) == "row":
        return ((prod(extents) * int(storage["bits"]) + 7) // 8,)
    tiles = _tiles(storage)
    return (*tiles.counts(extents), tiles.tile_bytes)


class Packed(np.ndarray[Any, np.dtype[Any]]):
    """Stored bytes that know their storage: an array of uint8 like any other.

    What is made of it (a view, a copy, a torch tensor, a file) does not know it any more.
    """

    storage: Mapping[str, Any] | None = None

    def __array_finalize__(self, made_of: object) -> None:
        self.storage = None


def check_storage(param: str, array: object, storage: Mapping[str, Any] | None) -> None:
    """DSL0768 where bytes that know their storage have another one than this; None is codes."""
    own = array.storage if isinstance(array, Packed) else None
    if own is not None and own != storage:
        here, there = _said(storage), _said(own)
        raise error(
            "DSL0768",
            f"{param} was packed as {there}, and this kernel reads "
            + (here if here != there else "such in another order"),
            hint=f'pack the codes with this kernel: kernel.pack("{param}", codes)',
        )


def _said(storage: Mapping[str, Any] | None) -> str:
    if storage is None:
        return "codes, one a byte"
    if _scheme(storage) == "row":
        return f"rows of {storage['bits']} bits"
    tiles = _tiles(storage)
    shape = " x ".join(map(str, tiles.tile))
    return f"tiles of {shape} of {tiles.bits} bits in {tiles.word_bytes}-byte words" + (
        f", {tiles.lanes} lanes" if tiles.lanes > 1 else ""
    )


def pack(codes: Array, storage: Mapping[str, Any]) -> Packed:
    """The codes (int8 or uint8, one element each) as stored bytes, uint8 of `packed_shape`.

    They know their storage, so that a kernel with another one refuses them. DSL0795 for an array of
    another type or rank, DSL0796 for a code that has not the tensor's bits.
    """
    found = _pack(codes, storage).view(Packed)
    found.storage = dict(storage)
    return found


def _pack(codes: Array, storage: Mapping[str, Any]) -> Array:
    bits = int(storage["bits"])
    if codes.dtype.itemsize != 1 or codes.dtype.kind not in "iu":
        raise error("DSL0795", f"codes are int8 or uint8, one element a byte, not {codes.dtype}")
    _check_codes(codes, bits, bool(storage["signed"]))
    codes = codes.view(np.uint8)
    if _scheme(storage) == "row":
        return _join(np.ascontiguousarray(codes).reshape(-1), bits)
    tiles = _tiles(storage)
    if codes.ndim != len(tiles.tile):
        raise error(
            "DSL0795", f"codes have {len(tiles.tile)} axes here, not {codes.ndim}: {codes.shape}"
        )
    out = np.zeros(packed_shape(storage, codes.shape), np.uint8)

    def pack_strip(strip: tuple[int, int]) -> None:
        start, stop = strip
        rows = codes[start * tiles.tile[0] : stop * tiles.tile[0]]
        out[start:stop] = _pack_strip(rows, tiles)

    strips = _strips(tiles, codes.shape)
    threads = min(len(strips), _THREADS, os.cpu_count() or 1)
    if threads < 2:
        for strip in strips:
            pack_strip(strip)
        return out
    from concurrent.futures import ThreadPoolExecutor  # heavy beside a load that packs nothing

    # NumPy copies and shifts without Python's lock: strips go side by side.
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(pack_strip, strips))
    return out


def unpack(data: Array, storage: Mapping[str, Any], extents: Sequence[int]) -> Array:
    """The codes of stored bytes: uint8, or int8 with the sign where the dtype has one.

    DSL0795 where the bytes are not those of a tensor of these extents, DSL0768 where they know that
    they are stored in another way.
    """
    check_storage("what is unpacked", data, storage)
    data = np.asarray(data)
    wanted = packed_shape(storage, extents)
    if data.dtype != np.uint8 or data.shape != wanted:
        raise error(
            "DSL0795",
            f"a tensor of shape {tuple(extents)} is stored as uint8 of shape {wanted}, not "
            f"{data.dtype} of shape {data.shape}",
        )
    bits = int(storage["bits"])
    if _scheme(storage) == "row":
        out = _spread(np.ascontiguousarray(data), bits)[: prod(extents)].reshape(tuple(extents))
    else:
        tiles = _tiles(storage)
        out = np.empty(tuple(extents), np.uint8)
        for start, stop in _strips(tiles, extents):
            rows = out[start * tiles.tile[0] : stop * tiles.tile[0]]
            rows[...] = _unpack_strip(data[start:stop], tiles, rows.shape)
    if storage["signed"]:
        shift = np.int8(8 - bits)
        return (out.view(np.int8) << shift) >> shift
    return out


def _pack_strip(rows: Array, tiles: _Tiles) -> Array:
    """Some rows of tiles, uint8 [tiles along axis 0, ..., bytes]."""
    counts = tiles.counts(rows.shape)
    padding = [(0, c * t - n) for c, t, n in zip(counts, tiles.tile, rows.shape, strict=True)]
    if any(after for _, after in padding):
        rows = np.pad(rows, padding)
    sizes, order = tiles.split(counts)
    ordered = rows.reshape(sizes).transpose(order)
    joined = _join(np.ascontiguousarray(ordered).reshape(-1), tiles.bits)
    words = tiles.thread_bytes // tiles.word_bytes
    joined = _exchange(joined, tiles.thread_bytes, tiles.lanes, tiles.thread_bytes // 4)
    dealt = joined.reshape(-1, tiles.threads, words, tiles.word_bytes).transpose(0, 2, 1, 3)
    return dealt.reshape(*counts, tiles.tile_bytes)


def _unpack_strip(data: Array, tiles: _Tiles, extents: Sequence[int]) -> Array:
    counts = tiles.counts(extents)
    words = tiles.thread_bytes // tiles.word_bytes
    dealt = data.reshape(-1, words, tiles.threads, tiles.word_bytes).transpose(0, 2, 1, 3)
    joined = np.ascontiguousarray(dealt).reshape(-1)
    joined = _exchange(joined, tiles.thread_bytes, tiles.thread_bytes // 4, tiles.lanes)
    codes = _spread(joined, tiles.bits)
    sizes, order = tiles.split(counts)
    ordered = codes.reshape([sizes[i] for i in order])
    padded = [c * t for c, t in zip(counts, tiles.tile, strict=True)]
    rows: Array = ordered.transpose(np.argsort(order)).reshape(padded)
    return rows[tuple(slice(0, n) for n in extents)]


def _exchange(data: Array, thread_bytes: int, outer: int, inner: int) -> Array:
    """Each thread's bytes as [outer, inner, rest], the first two exchanged; as it was with one lane."""
    if outer == 1 or inner == 1:
        return data
    parts = data.reshape(-1, outer, inner, thread_bytes // (outer * inner))
    return np.ascontiguousarray(parts.transpose(0, 2, 1, 3)).reshape(-1)


def _strips(tiles: _Tiles, extents: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of tiles along the first axis, of about _CHUNK codes."""
    counts = tiles.counts(extents)
    row = max(1, tiles.tile[0] * prod(extents[1:]))
    step = max(1, _CHUNK // row)
    return [(start, min(start + step, counts[0])) for start in range(0, counts[0], step)]


def _check_codes(codes: Array, bits: int, signed: bool) -> None:
    if codes.size == 0 or bits == 8:
        return
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    if signed and codes.dtype == np.uint8:
        codes = codes.view(np.int8)
    if codes.min() < low or codes.max() > high:
        wrong = np.argwhere((codes < low) | (codes > high))[0]
        at = tuple(int(i) for i in wrong)
        raise error(
            "DSL0796",
            f"the code {codes[at]} at {list(at)} is outside {low} to {high}, the codes of {bits} bits",
        )


def _join(codes: Array, bits: int) -> Array:
    """Codes of a flat uint8 array as bits one after another, little-endian; the last byte padded.

    Eight codes are a 64-bit word whose lanes are joined in three steps of doubling width.
    """
    count = codes.size
    if count % 8:
        codes = np.concatenate([codes, np.zeros(-count % 8, np.uint8)])
    words = codes.view(_WORD)
    if bits < 8:
        words = words & np.uint64(((1 << bits) - 1) * 0x0101010101010101)
    for step in range(3):
        width, used = 8 << step, bits << step
        even, odd = _lanes(width, used)
        words = (words & even) | ((words & odd) >> np.uint64(width - used))
    packed = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)[:, :bits]
    return packed.reshape(-1)[: (count * bits + 7) // 8]


def _spread(data: Array, bits: int) -> Array:
    """The inverse of `_join`: all whole codes of the bytes."""
    count = data.size * 8 // bits
    groups = -(-data.size // bits)
    lanes = np.zeros((groups, 8), np.uint8)
    whole = data.size // bits
    lanes[:whole, :bits] = data[: whole * bits].reshape(whole, bits)
    if whole < groups:
        lanes[whole, : data.size - whole * bits] = data[whole * bits :]
    words = lanes.view(_WORD).reshape(-1)
    for step in (2, 1, 0):
        width, used = 8 << step, bits << step
        even, odd = _lanes(width, used)
        words = (words & even) | ((words << np.uint64(width - used)) & odd)
    return words.view(np.uint8)[:count]


def _lanes(width: int, used: int) -> tuple[np.uint64, np.uint64]:
    """Masks of the low `used` bits of the even and of the odd lanes of `width` bits."""
    even = sum(((1 << used) - 1) << at for at in range(0, 64, 2 * width))
    return np.uint64(even), np.uint64(even << width)


def _scheme(storage: Mapping[str, Any]) -> str:
    scheme = storage.get("scheme")
    if scheme not in ("row", "tiles"):
        raise ValueError(f"no packing scheme {scheme!r}")
    return str(scheme)


def _tiles(storage: Mapping[str, Any]) -> _Tiles:
    """The description checked: a manifest is a file, and a wrong one must not read wild memory."""
    found = _Tiles(
        int(storage["bits"]),
        bool(storage["signed"]),
        tuple(tuple(int(n) for n in sizes) for sizes in storage["modes"]),
        tuple(int(i) for i in storage["order"]),
        int(storage["thread_bytes"]),
        int(storage["word_bytes"]),
        int(storage.get("lanes", 1)),
    )
    factors = sum(len(sizes) for sizes in found.modes)
    sound = (
        1 <= found.bits <= 8
        and len(found.modes) > 0
        and all(n >= 1 for sizes in found.modes for n in sizes)
        and sorted(found.order) == list(range(factors))
        and found.thread_bytes >= 1
        and found.word_bytes >= 1
        and found.thread_bytes % found.word_bytes == 0
        and prod(found.tile) * found.bits % 8 == 0
        and found.tile_bytes % found.thread_bytes == 0
        and found.lanes in (1, 2, 4)
        and (found.lanes == 1 or found.thread_bytes % 4 == 0)
    )
    if not sound:
        raise ValueError(f"{dict(storage)} describes no packed storage")
    return found
