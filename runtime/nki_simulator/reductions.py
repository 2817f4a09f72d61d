"""Reductions along the free axes, scans, statistics, and the eight largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.core import Core, instruction
from dslc.runtime.nki_simulator.elements import FLOATS, HALF, Array, to_f32
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.operators import Operator
from dslc.runtime.nki_simulator.tensors import PSUM, SBUF, Tensor

BN_LIMIT = 512  # elements of a partition that bn_stats takes


class ReduceCommand(Enum):
    """`nisa.reduce_cmd`: what happens to an engine's 128 accumulator registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


def reducer(core: Core, value: Any, what: str = "op") -> Operator:
    """An operator that reduces."""
    if not isinstance(value, Operator) or not value.reducible:
        core.fail("operator", f"{what}={value!r} does not reduce")
    return value


def fold(op: Operator, values: Array, start: Array | None = None) -> Array:
    """All columns of [partitions, n] by the operator, in order: [partitions, 1]."""
    assert op.alu is not None
    ufunc = op.alu
    if isinstance(ufunc, np.ufunc) and op.name != "subtract":
        found = ufunc.reduce(values, axis=1, keepdims=True)
    else:
        found = values[:, :1]
        for i in range(1, values.shape[1]):
            found = ufunc(found, values[:, i : i + 1])
    return np.asarray(found if start is None else ufunc(start, found))


def accumulate_into(
    core: Core, queue: str, values: Array | None, op: Operator, command: ReduceCommand,
    result: Any, data: Tensor, writes: list[Tensor], load: Any = None,
) -> None:  # fmt: skip
    """An engine's accumulator registers after an instruction, and their values into `result`."""
    registers = core.registers[queue]
    rows = data.shape[0]
    if command in (ReduceCommand.reset, ReduceCommand.reset_reduce):
        registers[:] = op.identity
    elif command is ReduceCommand.load_reduce:
        registers[:rows] = np.broadcast_to(np.float32(load), (rows, 1))[:, 0]
    if values is not None and command not in (ReduceCommand.idle, ReduceCommand.reset):
        registers[:rows] = fold(op, values, registers[:rows, None])[:, 0]
    if result is not None:
        out = core.tile(result, "reduce_res")
        core.require(
            out.shape[0] == rows and out.free == 1, "operand", f"reduce_res {out} is no column"
        )
        if core.values:
            core.write(out, registers[:rows, None].copy())
        writes.append(out)


@instruction
def tensor_reduce(
    core: Core, dst: Any, op: Any, data: Any, axis: int | Sequence[int], negate: bool = False,
    keepdims: bool = False,
) -> None:  # fmt: skip
    """dst = data reduced over its last free axes by the DVE."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    function = reducer(core, op)
    axes = sorted({axis} if isinstance(axis, int) else set(axis))
    axes = sorted(a % source.ndim for a in axes)
    core.require(
        bool(axes) and axes[0] > 0 and axes == list(range(axes[0], source.ndim)),
        "window", f"axis={axis} of {source}: the last free axes alone can be reduced",
    )  # fmt: skip
    rest = math.prod(source.shape[1 : axes[0]])
    if out.shape[0] != source.shape[0] or out.free != rest:
        core.fail("shape", f"dst {out} is not {source.shape[0]} x {rest}")
    if function.bits:
        for t in (out, source):
            core.require(t.dtype not in FLOATS, "dtype", f"{function} takes integers, not {t}")
    if core.values:
        count = math.prod(source.shape[axes[0] :])
        values = core.read(source).reshape(-1, count)
        result = fold(function, values if function.bits else to_f32(values))
        core.write(out, -result if negate else result)
    n = source.free
    fast = source.dtype in HALF and function.name in ("add", "maximum")
    core.run("DVE", max(MIN_CYCLES, n / 2 if fast else n), (source,), (out,))


@instruction
def tensor_partition_reduce(core: Core, dst: Any, op: Any, data: Any) -> None:
    """dst [1, ...] = data reduced over the partitions by GpSimd."""
    out, source = core.tile(dst, "dst", SBUF), core.tile(data, "data", SBUF)
    function = reducer(core, op)
    core.require(
        function.name in ("add", "maximum", "bitwise_or", "bitwise_and"), "operator", f"{function}"
    )
    if out.shape[0] != 1 or out.free != source.free:
        core.fail("shape", f"dst {out} is not 1 x {source.free}")
    if core.values:
        values = core.read(source).reshape(source.shape[0], -1).T
        core.write(out, fold(function, values if function.bits else to_f32(values)).T)
    core.run("Pool", max(MIN_CYCLES, source.free * source.shape[0] / 16), (source,), (out,))


@instruction
def tensor_scalar_reduce(
    core: Core, dst: Any, data: Any, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Any,
    reverse0: bool = False, reduce_cmd: ReduceCommand = ReduceCommand.reset_reduce,
    reduce_init: Any = None,
) -> None:  # fmt: skip
    """dst = data op0 operand0, and reduce_res its reduction over the free axes."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.alike(out, source)
    core.require(not reverse0, "version", "reverse0 is not there yet")
    if not isinstance(op0, Operator) or op0.alu is None or op0.bits:
        core.fail("operator", f"op0={op0!r} is no arithmetic operator")
    value = None if op0.unary else core.vector(operand0, source, "operand0")
    writes = [out]
    result: Any = None
    if core.values:
        a = core.f32(source).reshape(source.shape[0], -1)
        with np.errstate(all="ignore"):
            result = op0.alu(a) if op0.unary else op0.alu(a, value)
        core.write(out, result)
    function = reducer(core, reduce_op, "reduce_op")
    accumulate_into(core, "DVE", result, function, reduce_cmd, reduce_res, out, writes, reduce_init)
    core.run("DVE", max(MIN_CYCLES, out.free) + MIN_CYCLES, (source, operand0), writes)


@instruction
def tensor_tensor_scan(
    core: Core, dst: Any, data0: Any, data1: Any, initial: Any, op0: Any, op1: Any,
    reverse0: bool = False, reverse1: bool = False,
) -> None:  # fmt: skip
    """dst[i] = (data0[i] op0 dst[i-1]) op1 data1[i] in each partition, dst[-1] being `initial`."""
    out, a, b = core.tile(dst, "dst"), core.tile(data0, "data0"), core.tile(data1, "data1")
    core.alike(out, a, b)
    core.require(
        not (a.buffer == PSUM and b.buffer == PSUM), "both-psum", f"{a} and {b} are both in PSUM"
    )
    for op in (op0, op1):
        if not isinstance(op, Operator) or op.alu is None or op.bits or op.unary:
            core.fail("operator", f"{op!r} is no binary arithmetic operator")
    state = core.vector(initial, a, "initial", any_float=True)
    if core.values:
        x, y = (core.f32(t).reshape(t.shape[0], -1) for t in (a, b))
        result = np.empty_like(x)
        last = np.broadcast_to(np.float32(state), (x.shape[0], 1))[:, 0]
        for i in range(x.shape[1]):
            first = op0.alu(last, x[:, i]) if reverse0 else op0.alu(x[:, i], last)
            last = op1.alu(y[:, i], first) if reverse1 else op1.alu(first, y[:, i])
            result[:, i] = last
        core.write(out, result)
    core.run("DVE", max(MIN_CYCLES, 2 * out.free), (a, b, initial), (out,))


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
    core.run("DVE", max(MIN_CYCLES, source.free), (source,), (out,))


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
        core.write(out, _places(x, v).astype(out.values().dtype))
    core.run("DVE", max(MIN_CYCLES, source.free), (source, wanted), (out,))


def _places(x: Array, v: Array) -> Array:
    """The first place of each value that an equal value before it has not taken."""
    found = np.zeros(v.shape, np.int64)
    free = np.ones(x.shape, bool)
    rows = np.arange(len(x))
    for i in range(v.shape[1]):
        same = free & (x == v[:, i : i + 1])
        found[:, i] = same.argmax(axis=1)
        free[rows, found[:, i]] &= ~same.any(axis=1)
    return found


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
        rows = np.arange(len(x))[:, None]
        met = x[rows, places] == v
        result[np.broadcast_to(rows, met.shape)[met], places[met]] = imm
        core.write(out, result)
    if dst_idx is not None:
        indices = core.tile(dst_idx, "dst_idx")
        if core.values:
            core.write(indices, places.astype(indices.values().dtype))
        writes.append(indices)
    core.run("DVE", max(MIN_CYCLES, source.free), (source, wanted), writes)
