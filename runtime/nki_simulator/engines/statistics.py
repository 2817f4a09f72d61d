"""Statistics of each partition: mean and variance, and the eight largest elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import Array
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.neuroncore import Core, instruction
from dslc.runtime.nki_simulator.tensors import Tensor

BN_LIMIT = 512  # elements of a partition that bn_stats takes


@instruction
def bn_stats(core: Core, dst: Any, data: Any) -> None:
    """Count, mean and variance * count of the even elements, then of the odd ones: six a partition."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.require(
        source.free <= BN_LIMIT, "window", f"data {source} has more than {BN_LIMIT} elements"
    )
    core.require(
        out.shape[0] == source.shape[0] and out.free == 6, "shape", f"dst {out} is no [p, 6]"
    )
    if core.values:
        x = core.f32(source).reshape(source.shape[0], -1)
        columns = []
        for part in (x[:, 0::2], x[:, 1::2]):
            n = part.shape[1]
            mean = part.mean(axis=1) if n else np.zeros(len(x), np.float32)
            spread = ((part - mean[:, None]) ** 2).sum(axis=1)
            columns += [np.full(len(x), n, np.float32), mean, spread]
        core.write(out, np.stack(columns, axis=1))
    core.run("DVE", max(MIN_CYCLES, source.free), (source,), (out,))


@instruction
def bn_aggr(core: Core, dst: Any, data: Any) -> None:
    """Mean and variance of each partition from the triples of bn_stats."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.require(source.free % 3 == 0, "window", f"data {source} is not of triples")
    core.require(
        out.shape[0] == source.shape[0] and out.free == 2, "shape", f"dst {out} is no [p, 2]"
    )
    if core.values:
        n, mean, spread = np.moveaxis(core.f32(source).reshape(source.shape[0], -1, 3), 2, 0)
        total = n.sum(axis=1)
        whole = (n * mean).sum(axis=1) / total
        variance = (spread + n * (mean - whole[:, None]) ** 2).sum(axis=1) / total
        core.write(out, np.stack([whole, variance], axis=1))
    core.run("DVE", max(MIN_CYCLES, 13 * source.free / 3), (source,), (out,))


def _eight(core: Core, source: Tensor) -> None:
    if not 8 <= source.free <= 16384:
        core.fail("window", f"{source} has not 8 to 16384 elements in a partition")


@instruction
def max8(core: Core, dst: Any, src: Any) -> None:
    """The eight largest elements of each partition, the largest first."""
    out, source = core.tile(dst, "dst"), core.tile(src, "src")
    _eight(core, source)
    core.require(out.shape == (source.shape[0], 8), "shape", f"dst {out} is not [p, 8]")
    if core.values:
        core.write(out, -np.sort(-core.f32(source).reshape(source.shape[0], -1), axis=1)[:, :8])
    core.run("DVE", max(MIN_CYCLES, source.free), (source,), (out,))


@instruction
def nc_find_index8(core: Core, dst: Any, data: Any, vals: Any) -> None:
    """Where each of eight values is first met in its partition."""
    out, source, wanted = core.tile(dst, "dst"), core.tile(data, "data"), core.tile(vals, "vals")
    _eight(core, source)
    core.require(wanted.free == 8 and out.free == 8, "shape", f"{wanted} and {out} have 8 elements")
    core.require(out.dtype in ("uint16", "uint32"), "dtype", f"dst {out} is not uint16 or uint32")
    if core.values:
        x, v = (core.f32(t).reshape(t.shape[0], -1) for t in (source, wanted))
        core.write(out, _places(x, v).astype(out.values().dtype))  # all bits where there is none
    core.run("DVE", max(MIN_CYCLES, source.free), (source, wanted), (out,))


def _places(x: Array, v: Array) -> Array:
    """The first place of each value that an equal value before it has not taken; -1 for none."""
    places = np.full(v.shape, -1, np.int64)
    free = np.ones(x.shape, bool)
    rows = np.arange(len(x))
    for i in range(v.shape[1]):
        same = free & (x == v[:, i : i + 1])
        met = same.any(axis=1)
        places[met, i] = same.argmax(axis=1)[met]
        free[rows[met], places[met, i]] = False
    return places


def _descending(places: Array, v: Array) -> Array:
    """The places of equal values, which the machine tells from the last to the first."""
    descending = places.copy()
    for row, values in zip(descending, v, strict=True):
        for value in np.unique(values):
            mine = np.flatnonzero(values == value)
            row[mine] = row[mine][::-1]
    return descending


@instruction
def nc_match_replace8(
    core: Core, dst: Any, data: Any, vals: Any, imm: float, dst_idx: Any = None
) -> None:
    """dst = data with the first of each of eight values replaced; dst_idx says where they were."""
    out, source, wanted = core.tile(dst, "dst"), core.tile(data, "data"), core.tile(vals, "vals")
    _eight(core, source)
    core.alike(out, source)
    writes = [out]
    places: Any = None
    if core.values:
        x, v = (core.f32(t).reshape(t.shape[0], -1) for t in (source, wanted))
        places = _places(x, v)
        result = x.copy()
        met = places >= 0
        rows = np.broadcast_to(np.arange(len(x))[:, None], met.shape)
        result[rows[met], places[met]] = imm
        core.write(out, result)
    if dst_idx is not None:
        indices = core.tile(dst_idx, "dst_idx")
        if core.values:
            core.write(indices, _descending(places, v).astype(indices.values().dtype))
        writes.append(indices)
    core.run("DVE", max(MIN_CYCLES, source.free), (source, wanted), writes)
