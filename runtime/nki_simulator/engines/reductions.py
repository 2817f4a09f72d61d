"""Reductions along the free axes, and scans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import FLOATS, Array, to_f32
from dslc.runtime.nki_simulator.engines.operators import Operator
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.neuroncore import Core, instruction
from dslc.runtime.nki_simulator.tensors import PSUM, SBUF, Tensor


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
        total = ufunc.reduce(values, axis=1, keepdims=True)
    else:
        total = values[:, :1]
        for i in range(1, values.shape[1]):
            total = ufunc(total, values[:, i : i + 1])
    return np.asarray(total if start is None else ufunc(start, total))


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
    core: Core,
    dst: Any,
    op: Any,
    data: Any,
    axis: int | Sequence[int],
    negate: bool = False,
    keepdims: bool = False,
) -> None:
    """dst = data reduced over its last free axes by the DVE."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    function = reducer(core, op)
    axes = sorted({axis} if isinstance(axis, int) else set(axis))
    axes = sorted(a % source.ndim for a in axes)
    core.require(
        bool(axes) and axes[0] > 0 and axes == list(range(axes[0], source.ndim)),
        "window",
        f"axis={axis} of {source}: the last free axes alone can be reduced",
    )
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
    fast = source.dtype == out.dtype == "bfloat16" and function.name in ("add", "maximum")
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
    core: Core, dst: Any, data: Any, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Any = None,
    reverse0: bool = False, reduce_cmd: ReduceCommand = ReduceCommand.reset_reduce,
    reduce_init: Any = None, reduce_res_negate: bool = False,
) -> None:  # fmt: skip
    """dst = data op0 operand0, and reduce_res its reduction over the free axes, or minus that."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.alike(out, source)
    core.require(not reverse0, "version", "reverse0 is not there yet")
    core.require(
        (reduce_init is not None) == (reduce_cmd is ReduceCommand.load_reduce),
        "signature",
        "reduce_init goes with load_reduce",
    )
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
    if reduce_res_negate and reduce_res is not None and core.values:
        core.write(reduce_res, -core.f32(reduce_res))
    reading = MIN_CYCLES if reduce_res is not None else 0
    core.run("DVE", max(MIN_CYCLES, out.free) + reading, (source, operand0), writes)


_CUMULATIVE = ("add", "subtract", "multiply", "maximum", "minimum")


@instruction
def tensor_scalar_cumulative(
    core: Core,
    dst: Any,
    src: Any,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: ReduceCommand = ReduceCommand.reset_reduce,
) -> None:
    """dst[i] = op1(src[i] op0 imm0, dst[i-1]); the register before dst[0] follows `reduce_cmd`."""
    out, source = core.tile(dst, "dst"), core.tile(src, "src")
    core.alike(out, source)
    for t in (out, source):
        core.require(t.dtype not in ("int32", "uint32"), "dtype", f"{t} is of 32-bit integers")
    if not isinstance(op0, Operator) or op0.alu is None or op0.bits:
        core.fail("operator", f"op0={op0!r} is no arithmetic operator")
    core.require(getattr(op1, "name", "") in _CUMULATIVE, "operator", f"op1={op1!r}")
    value = core.vector(imm0, source, "imm0")
    load = None if imm1 is None else core.vector(imm1, source, "imm1")
    if reduce_cmd is ReduceCommand.load_reduce and load is None:
        core.fail("signature", "load_reduce takes imm1")
    if core.values:
        registers, rows = core.registers["DVE"], source.shape[0]
        if reduce_cmd is ReduceCommand.reset_reduce:
            registers[:] = op1.identity
        elif reduce_cmd is ReduceCommand.load_reduce:
            registers[:rows] = np.broadcast_to(np.float32(load), (rows, 1))[:, 0]
        x = core.f32(source).reshape(rows, -1)
        x = op0.alu(x) if op0.unary else op0.alu(x, value)
        result = np.empty_like(x)
        for i in range(x.shape[1]):
            registers[:rows] = op1.alu(x[:, i], registers[:rows])
            result[:, i] = registers[:rows]
        core.write(out, result)
    core.run("DVE", max(MIN_CYCLES, 2 * out.free), (source, imm0, imm1), (out,))


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
