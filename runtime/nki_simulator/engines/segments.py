"""GpSimd's instructions over whole rows: segments, places of what is not zero, the largest, gathers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.neuroncore import Core, instruction
from dslc.runtime.nki_simulator.tensors import SBUF, Tensor

_GROUP = 16  # partitions of one of GpSimd's eight cores


@instruction
def sequence_bounds(core: Core, dst: Any, segment_ids: Any) -> None:
    """For each id where its segment begins and ends, [1, 2, n]; n and -1 for padding, whose id is 0."""
    out, ids = core.tile(dst, "dst", SBUF), core.tile(segment_ids, "segment_ids", SBUF)
    for t in (out, ids):
        core.require(t.dtype in ("float32", "int32"), "dtype", f"{t} is not float32 or int32")
        core.require(t.shape[0] == 1, "partitions", f"{t} has more than one partition")
    core.require(out.free == 2 * ids.free, "shape", f"dst {out} has not two rows of {ids}")
    if core.values:
        x = core.read(ids).reshape(-1)
        first, end = np.full(x.size, x.size), np.full(x.size, -1)
        edges = [0, *(np.flatnonzero(np.diff(x)) + 1), x.size]
        for a, b in pairwise(edges):
            if x[a] != 0:
                first[a:b], end[a:b] = a, b
        core.write(out, np.stack([first, end]).astype(out.values().dtype))
    core.run("Pool", max(MIN_CYCLES, ids.free), (ids,), (out,))


def _active(tensor: Tensor) -> slice:
    """The partitions that GpSimd's cores read: the first of each sixteen."""
    return slice(0, tensor.shape[0], _GROUP)


@instruction
def nonzero_with_count(
    core: Core, dst: Any, src: Any, index_offset: int = 0, padding_val: int = -1
) -> None:
    """Where a row is not zero, padding, and how many that are: of partitions 0, 16, 32, ... alone."""
    out, source = core.tile(dst, "dst", SBUF), core.tile(src, "src", SBUF)
    core.require(source.dtype in ("float32", "int32"), "dtype", f"src {source}")
    core.require(out.dtype == "int32", "dtype", f"dst {out} is not int32")
    core.require(out.shape[0] == source.shape[0], "partitions", f"{out} has not those of {source}")
    core.require(out.free == source.free + 1, "shape", f"dst {out} has not one more than {source}")
    core.require(out.partition % _GROUP == 0, "start-partition", f"dst {out}")
    if core.values:
        rows = source.values()[_active(source)].reshape(-1, source.free)
        held = out.values()[_active(out)].reshape(-1, out.free)
        for i, row in enumerate(rows):
            places = np.flatnonzero(row) + index_offset
            held[i] = padding_val
            held[i, : places.size] = places
            held[i, -1] = places.size
        for p in range(0, out.shape[0], _GROUP):
            part: Any = out
            part[p : p + 1].mark()
    core.run("Pool", max(MIN_CYCLES, source.free), (source,), (out,))


@instruction
def local_gather(
    core: Core,
    dst: Any,
    src_buffer: Any,
    index: Any,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
) -> None:
    """For each sixteen partitions the elements of their rows at the indices that these hold."""
    out, source = core.tile(dst, "dst", SBUF), core.tile(src_buffer, "src_buffer", SBUF)
    places = core.tile(index, "index", SBUF)
    core.require(places.dtype == "uint16", "dtype", f"index {places} is not uint16")
    core.require(out.dtype == source.dtype, "dtype", f"dst {out} is not of the type of {source}")
    partitions = source.shape[0]
    core.require(
        places.shape[0] == partitions and partitions % _GROUP == 0,
        "partitions",
        f"{source} and {places} have as many partitions, a multiple of 16",
    )
    core.require(
        num_elem_per_idx in (1, 2, 4, 8, 16, 32), "window", f"num_elem_per_idx={num_elem_per_idx}"
    )
    whole = places.free * _GROUP
    count = whole if num_valid_indices is None else num_valid_indices
    core.require(count <= min(whole, 4096), "window", f"{count} indices for a core")
    core.require(
        out.shape[0] == partitions and out.free == count * num_elem_per_idx,
        "shape",
        f"dst {out} is not {partitions} x {count * num_elem_per_idx}",
    )
    if core.values:
        x = core.read(source).reshape(partitions, -1)
        numbers = core.read(places).reshape(partitions // _GROUP, _GROUP, -1)
        result = np.empty((partitions, count * num_elem_per_idx), x.dtype)
        for group, mine in enumerate(numbers):
            flat = mine.T.reshape(-1)[:count].astype(np.int64)  # the partitions first
            at = (flat[:, None] * num_elem_per_idx + np.arange(num_elem_per_idx)).reshape(-1)
            core.require(bool((at < x.shape[1]).all()), "bounds", f"an index leaves {source}")
            rows = slice(group * _GROUP, (group + 1) * _GROUP)
            result[rows] = x[rows][:, at]
        core.write(out, result)
    core.run("Pool", max(MIN_CYCLES, count * num_elem_per_idx), (source, places), (out,))


@instruction
def topk(core: Core, val_dst: Any, idx_dst: Any, src: Any, n: int) -> None:
    """The largest of n elements of each sixteen partitions, ascending, and where they are.

    Element i lies in partition i % 16 at i // 16; results lie so, too. How many there are is what a
    partition of `val_dst` holds.
    """
    best, where = core.tile(val_dst, "val_dst", SBUF), core.tile(idx_dst, "idx_dst", SBUF)
    source = core.tile(src, "src", SBUF)
    for t in (best, source):
        core.require(t.dtype == "bfloat16", "dtype", f"{t} is not bfloat16")
    core.require(where.dtype == "uint32", "dtype", f"idx_dst {where} is not uint32")
    core.alike(best, where)
    k, partitions = best.free, source.shape[0]
    core.require(
        partitions % _GROUP == 0 and best.shape[0] == partitions,
        "partitions",
        f"{source} and {best} have as many partitions, a multiple of 16",
    )
    core.require(8 <= n < 65536 and 1 <= k <= min(n, 32767), "window", f"{k} of {n} elements")
    core.require(
        source.free * _GROUP >= n, "shape", f"src {source} has not {n} elements in 16 rows"
    )
    if core.values:
        slots = -(-k // _GROUP)
        for first in range(0, partitions, _GROUP):
            rows = slice(first, first + _GROUP)
            x = core.f32(source)[rows].reshape(_GROUP, -1).T.reshape(-1)[:n]
            order = np.argsort(-x, kind="stable")[:k][::-1]
            padded = np.zeros(slots * _GROUP, np.int64)
            padded[:k] = order
            for tile, values in ((best, x[padded]), (where, padded)):
                held = tile.values()[rows].reshape(_GROUP, -1)
                held[:, :slots] = values.reshape(slots, _GROUP).T.astype(held.dtype)
        for register in (best, where):
            view: Any = register
            view[:, :slots].mark()
    core.run("Pool", max(MIN_CYCLES, 4 * n + k), (source,), (best, where))
