"""View: each thread's bits, in the order of its local elements, seen as another dtype and layout.

One gather brings the elements into the order (thread, local), their codes are packed into one stream
of bits, the stream is cut into codes of the new width, and one gather brings them into the new tile.
As both tiles give each thread the same number of bits, a thread's bits stay its own in the stream.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from dslc.compiler.dtypes import (
    DType,
    Kind,
    decode,
    encode,
    pack_bits,
    storage_dtype,
    unpack_bits,
)
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir import TileType
from dslc.compiler.ir.arithmetic.elements import Function


def view(x: TileType, out: TileType) -> Function:
    """`f(tile) -> tile` in value form. Tiles without layouts lie in one thread, row-major."""
    gather, scatter = _orders(x, out)
    source, target = x.dtype, out.dtype

    def change(tile: Array) -> Array:
        codes = encode(np.asarray(tile), source).reshape(-1)[gather]
        bits = _to_bits(codes, source)
        return decode(_from_bits(bits, target, scatter).reshape(out.shape), target)

    return change


def view_mask(x: TileType, out: TileType) -> Function:
    """The same of a mask of undefined elements: a new element is undefined if any bit of it is."""
    gather, scatter = _orders(x, out)

    def change(mask: Array) -> Array:
        bits = np.repeat(np.asarray(mask).reshape(-1)[gather], x.dtype.bits)
        codes = np.asarray(bits.reshape(-1, out.dtype.bits).any(axis=1))
        return codes[scatter].reshape(out.shape)

    return change


def _orders(x: TileType, out: TileType) -> tuple[Array, Array]:
    """Flat indices: of x's elements by (thread, local), and of that order by out's elements."""
    gather, placed = _table(x.layout, x.shape), _table(out.layout, out.shape)
    if gather.size * x.dtype.bits != placed.size * out.dtype.bits or len(gather) != len(placed):
        raise ValueError(f"view of {x} as {out}: threads or bits per thread differ")
    scatter = np.zeros(int(np.prod(out.shape, dtype=np.int64)), np.int64)
    # Of several replicas the first counts: it is written last.
    scatter[placed.reshape(-1)[::-1]] = np.arange(placed.size)[::-1]
    return gather.reshape(-1), scatter


@functools.lru_cache(maxsize=256)
def _table(layout: Any, shape: tuple[int, ...]) -> Array:
    """The flat index of each thread's local elements: [threads, locals]."""
    if layout is None:
        return np.arange(int(np.prod(shape, dtype=np.int64))).reshape(1, -1)
    indices = np.moveaxis(np.asarray(layout.table()), -1, 0)
    if not shape:
        return np.zeros(indices.shape[1:], np.int64)
    return np.asarray(np.ravel_multi_index(tuple(indices), shape))


def _to_bits(codes: Array, dtype: DType) -> Array:
    if dtype.bits < 8:
        return pack_bits(codes, dtype.bits)
    return np.ascontiguousarray(codes).view(np.uint8)


def _from_bits(bits: Array, dtype: DType, order: Array) -> Array:
    if dtype.bits < 8:
        count = bits.size * 8 // dtype.bits
        return unpack_bits(bits, dtype.bits, count, dtype.kind is Kind.INT)[order]
    if dtype.kind is Kind.BOOL:
        return np.asarray(bits != 0)[order]
    return bits.view(storage_dtype(dtype))[order]
