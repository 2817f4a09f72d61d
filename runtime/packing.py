"""Packing low-bit codes at a call, from an artifact's description (`storage`), with NumPy alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.storage import Rows, Tiles, read_storage

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_WORD = np.dtype("<u8")
_THREADS = 16
_CHUNK = 1 << 22  # codes at a time: the copies of a step stay small beside the tensor


def packed_shape(storage: Mapping[str, Any], extents: Sequence[int]) -> tuple[int, ...]:
    """The shape of the uint8 array that stores a tensor of these extents."""
    return read_storage(storage).shape(extents)


class Packed(np.ndarray[Any, np.dtype[Any]]):
    """Stored bytes that know their storage: an array of uint8 like any other.

    Its copies (`copy`, pickle, so what other processes get) know it too. What else is made of it does
    not: a view, a file of bytes, a tensor of torch.
    """

    storage: Mapping[str, Any] | None = None

    def __array_finalize__(self, made_of: object) -> None:
        self.storage = None

    def copy(self, order: Any = "C") -> Packed:
        """The same bytes in memory of their own."""
        copied: Packed = super().copy(order)
        copied.storage = self.storage
        return copied

    def __copy__(self) -> Packed:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Packed:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        reduced: Any = super().__reduce__()
        make, arguments, state = reduced
        return make, arguments, (self.storage, state)

    def __setstate__(self, state: Any) -> None:
        self.storage, own = state
        super().__setstate__(own)


def check_storage(
    param: str,
    array: object,
    storage: Mapping[str, Any] | None,
    sizes: Callable[[], Mapping[str, int]] = dict,
) -> None:
    """DSL0768 where bytes that know their storage have another one than this; None is codes.

    `sizes` are those of the call, with which the codes would have been packed so.
    """
    own = array.storage if isinstance(array, Packed) else None
    if own is not None and own != storage:
        here = "codes, one a byte" if storage is None else str(read_storage(storage))
        there = str(read_storage(own))
        named = "".join(f", {dim}={size}" for dim, size in sizes().items())
        call = f'kernel.pack("{param}", codes{named})'
        raise error(
            "DSL0768",
            f"{param} was packed as {there}, and this kernel reads "
            + (here if here != there else "such in another order"),
            hint=f"pack the codes with this kernel, the sizes and the choices of the call: {call}",
        )


def pack(codes: Array, storage: Mapping[str, Any]) -> Packed:
    """The codes (int8 or uint8, one element each) as stored bytes, uint8 of `packed_shape`.

    They know their storage, so that a kernel with another one refuses them. DSL0795 for an array of
    another type or rank, DSL0796 for a code that has not the tensor's bits.
    """
    packed = _pack(codes, storage).view(Packed)
    packed.storage = dict(storage)
    return packed


def _pack(codes: Array, storage: Mapping[str, Any]) -> Array:
    tiles = read_storage(storage)
    if codes.dtype.itemsize != 1 or codes.dtype.kind not in "iu":
        raise error("DSL0795", f"codes are int8 or uint8, one element a byte, not {codes.dtype}")
    _check_codes(codes, tiles.bits, tiles.signed)
    codes = codes.view(np.uint8)
    if isinstance(tiles, Rows):
        return _join(np.ascontiguousarray(codes).reshape(-1), tiles.bits)
    if codes.ndim != len(tiles.tile):
        raise error(
            "DSL0795", f"codes have {len(tiles.tile)} axes here, not {codes.ndim}: {codes.shape}"
        )
    out = np.zeros(tiles.shape(codes.shape), np.uint8)

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
    tiles = read_storage(storage)
    wanted = tiles.shape(extents)
    if data.dtype != np.uint8 or data.shape != wanted:
        raise error(
            "DSL0795",
            f"a tensor of shape {tuple(extents)} is stored as uint8 of shape {wanted}, not "
            f"{data.dtype} of shape {data.shape}",
        )
    if isinstance(tiles, Rows):
        whole = _spread(np.ascontiguousarray(data), tiles.bits)
        out = whole[: prod(extents)].reshape(tuple(extents))
    else:
        out = np.empty(tuple(extents), np.uint8)
        for start, stop in _strips(tiles, extents):
            rows = out[start * tiles.tile[0] : stop * tiles.tile[0]]
            rows[...] = _unpack_strip(data[start:stop], tiles, rows.shape)
    if tiles.signed:
        shift = np.int8(8 - tiles.bits)
        return (out.view(np.int8) << shift) >> shift
    return out


def _pack_strip(rows: Array, tiles: Tiles) -> Array:
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


def _unpack_strip(data: Array, tiles: Tiles, extents: Sequence[int]) -> Array:
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


def _strips(tiles: Tiles, extents: Sequence[int]) -> list[tuple[int, int]]:
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
    # Of one bit the reshaped bytes would be a view of every eighth.
    return np.ascontiguousarray(packed.reshape(-1)[: (count * bits + 7) // 8])


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
