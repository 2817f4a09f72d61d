"""Instructions of GpSimd and others by index patterns: iota, selections by place, shuffles, gathers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import FLOATS, Array
from dslc.runtime.nki_simulator.engines.operators import OPERATORS
from dslc.runtime.nki_simulator.engines.reductions import ReduceCommand, accumulate_into
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.neuroncore import Core, instruction
from dslc.runtime.nki_simulator.scalars import number_of
from dslc.runtime.nki_simulator.tensors import SBUF, Tensor

_START = 150  # cycles before the first element of a pattern
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_LOWEST = -3.4028235e38


def _affine(
    core: Core, out: Tensor, pattern: Sequence[Sequence[int]], offset: Any, multiplier: Any
) -> Array:
    """offset + partition * multiplier + the pattern's steps: int64 [partitions, elements]."""
    core.require(1 <= len(pattern) <= 4, "free-pattern", f"a pattern of {len(pattern)} dimensions")
    counts = [number_of(count) for _, count in pattern]
    core.require(
        math.prod(counts) == out.free,
        "shape",
        f"the pattern has {math.prod(counts)} elements, dst {out}",
    )
    total = np.zeros((1,), np.int64)
    for (step, _), count in zip(pattern, counts, strict=True):
        total = (total[:, None] + number_of(step) * np.arange(count)).reshape(-1)
    rows = np.arange(out.shape[0])[:, None] * number_of(multiplier)
    return np.asarray(number_of(offset) + rows + total)


@instruction
def iota(
    core: Core,
    dst: Any,
    pattern: Sequence[Sequence[int]],
    offset: Any = 0,
    channel_multiplier: Any = 0,
) -> None:
    """dst[p, ...] = offset + p * channel_multiplier + the steps of the pattern, in 32-bit integers."""
    out = core.tile(dst, "dst", SBUF)
    numbers = _affine(core, out, pattern, offset, channel_multiplier)
    if core.values:
        whole = numbers.astype(np.int32)
        core.write(
            out,
            whole.astype(np.float32) if out.dtype in FLOATS else whole.astype(out.values().dtype),
        )
    core.run("Pool", _START + out.free, (), (out,))


@instruction
def affine_select(
    core: Core,
    dst: Any,
    pattern: Sequence[Sequence[int]],
    channel_multiplier: Any,
    on_true_tile: Any,
    on_false_value: float,
    cmp_op: Any = OPERATORS["equal"],
    offset: Any = 0,
) -> None:
    """dst = on_true_tile where the pattern compares with 0 as cmp_op says, else on_false_value."""
    out, source = core.tile(dst, "dst", SBUF), core.tile(on_true_tile, "on_true_tile", SBUF)
    core.alike(out, source)
    core.require(getattr(cmp_op, "name", "") in _COMPARISONS, "operator", f"cmp_op={cmp_op!r}")
    numbers = _affine(core, out, pattern, offset, channel_multiplier)
    if core.values:
        keep = cmp_op.alu(numbers, 0) != 0
        x = core.f32(source).reshape(numbers.shape)
        core.write(out, np.where(keep, x, np.float32(on_false_value)))
    core.run("Pool", _START + out.free, (source,), (out,))


@instruction
def range_select(
    core: Core, dst: Any, on_true_tile: Any, comp_op0: Any, comp_op1: Any, bound0: Any, bound1: Any,
    reduce_cmd: ReduceCommand = ReduceCommand.reset_reduce, reduce_res: Any = None,
    reduce_op: Any = OPERATORS["maximum"], range_start: Any = 0, on_false_value: float = _LOWEST,
) -> None:  # fmt: skip
    """dst = on_true_tile where the index compares with both bounds, else the lowest float32."""
    core.require(core.version >= 3, "version", "range_select needs NeuronCore-v3")
    out, source = core.tile(dst, "dst"), core.tile(on_true_tile, "on_true_tile")
    core.alike(out, source)
    for op in (comp_op0, comp_op1):
        core.require(
            getattr(op, "name", "") in _COMPARISONS, "operator", f"{op!r} is no comparison"
        )
    core.require(source.dtype in FLOATS, "dtype", f"on_true_tile {source} is not a float")
    core.require(reduce_op is OPERATORS["maximum"], "operator", f"reduce_op={reduce_op!r}")
    low, high = core.vector(bound0, source, "bound0"), core.vector(bound1, source, "bound1")
    writes = [out]
    chosen: Any = None
    if core.values:
        index = (number_of(range_start) + np.arange(source.free, dtype=np.float32))[None, :]
        keep = (comp_op0.alu(index, low) != 0) & (comp_op1.alu(index, high) != 0)
        x = core.f32(source).reshape(source.shape[0], -1)
        chosen = np.where(keep, x, np.float32(on_false_value))
        core.write(out, chosen)
    accumulate_into(core, "DVE", chosen, reduce_op, reduce_cmd, reduce_res, source, writes)
    core.run("DVE", max(MIN_CYCLES, out.free), (source, bound0, bound1), writes)


@instruction
def nc_stream_shuffle(core: Core, dst: Any, src: Any, shuffle_mask: Sequence[int]) -> None:
    """In every 32 partitions, partition i of dst is partition mask[i] of src; 255 leaves it."""
    out, source = core.tile(dst, "dst"), core.tile(src, "src")
    core.require(out.free == source.free, "shape", f"{source} has not the elements of {out}")
    core.require(out.dtype == source.dtype, "dtype", f"{source} is not of dst's data type")
    core.require(
        len(shuffle_mask) == 32 and all(0 <= m < 32 or m == 255 for m in shuffle_mask),
        "window",
        "shuffle_mask has 32 entries: partitions of a quadrant, or 255",
    )
    wanted = [q * 32 + m for q in range(-(-out.shape[0] // 32)) for m in shuffle_mask]
    keep = {i for i in range(out.shape[0]) if shuffle_mask[i % 32] == 255}
    moved = [i for i in range(out.shape[0]) if i not in keep]
    core.require(
        all(wanted[i] < source.shape[0] for i in moved), "partitions", f"the mask leaves {source}"
    )
    if core.values:
        before = core.read(source).copy()
        held = out.values()
        for i in moved:
            held[i] = before[wanted[i]].reshape(held.shape[1:])
        if not keep:
            out.mark()
        else:
            core.read(out)
    core.run("DVE", max(MIN_CYCLES, out.free), (source,), (out,))


@instruction
def nc_n_gather(core: Core, dst: Any, data: Any, indices: Any) -> None:
    """dst[p, i] = data[p, indices[p, i]], the free axes of data taken as one."""
    out, source = core.tile(dst, "dst", SBUF), core.tile(data, "data", SBUF)
    places = core.tile(indices, "indices", SBUF)
    core.alike(out, places)
    core.require(places.dtype == "uint32", "dtype", f"indices {places} are not uint32")
    core.require(out.dtype == source.dtype, "dtype", f"dst {out} is not of data's type")
    core.require(source.shape[0] == out.shape[0], "partitions", f"{source} and {out}")
    if core.values:
        at = core.read(places).reshape(out.shape[0], -1).astype(np.int64)
        core.require(bool((at < source.free).all()), "bounds", f"an index leaves {source}")
        core.write(out, np.take_along_axis(core.read(source).reshape(source.shape[0], -1), at, 1))
    core.run("Pool", _START + out.free, (source, places), (out,))
