"""The Scalar Engine: activation functions of data * scale + bias, with sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import Array
from dslc.runtime.nki_simulator.engines.operators import OPERATORS, Operator
from dslc.runtime.nki_simulator.engines.reductions import ReduceCommand, accumulate_into
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.neuroncore import Core, instruction
from dslc.runtime.nki_simulator.tensors import Tensor

_ADD = OPERATORS["add"]


@instruction
def activation(
    core: Core, dst: Any, op: Any, data: Any, bias: Any = None, scale: Any = 1.0,
    reduce_op: Any = None, reduce_res: Any = None, reduce_cmd: ReduceCommand = ReduceCommand.idle,
) -> None:  # fmt: skip
    """dst = op(data * scale + bias) in float32; `reduce_cmd` sums the results in the registers."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.alike(out, source)
    if not isinstance(op, Operator) or op.act is None:
        core.fail("operator", f"op={op!r} is no activation function")
    core.require(reduce_op in (None, _ADD), "operator", f"reduce_op={reduce_op!r} is not nl.add")
    column = core.vector(scale, source, "scale")
    shift = _bias(core, bias, source, op)
    writes = [out]
    result: Any = None
    if core.values:
        x = core.f32(source).reshape(source.shape[0], -1) * column
        if shift is not None:
            x = x + shift
        _in_range(core, op, x, source)
        with np.errstate(all="ignore"):
            result = np.asarray(op.act(x), np.float32)
        core.write(out, result)
    accumulate_into(core, "ACT", result, _ADD, reduce_cmd, reduce_res, source, writes)
    cycles = max(MIN_CYCLES, out.free) + (MIN_CYCLES if reduce_res is not None else 0)
    core.run("ACT", cycles, (source, bias, scale), writes)


@instruction
def activation_reduce(
    core: Core,
    dst: Any,
    op: Any,
    data: Any,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
) -> None:
    """`activation` with the sum of each partition in reduce_res."""
    core.require(reduce_op is _ADD, "operator", f"reduce_op={reduce_op!r} is not nl.add")
    command = ReduceCommand.reset_reduce
    activation(core, dst, op, data, bias, scale, reduce_op, reduce_res, command)


def _bias(core: Core, bias: Any, source: Tensor, op: Operator) -> Any:
    if bias is None:
        return None
    if core.version == 2:
        core.require(
            isinstance(bias, Tensor), "version", f"bias={bias!r} is a vector before NeuronCore-v3"
        )
        core.require(
            op.name != "reciprocal", "version", "reciprocal takes no bias on NeuronCore-v2"
        )
    return core.vector(bias, source, "bias", any_float=True)


def _in_range(core: Core, op: Operator, x: Array, source: Tensor) -> None:
    if op.limits is None:
        return
    low, high = np.float32(op.limits[0]), np.float32(op.limits[1])
    size = np.abs(x) if op.magnitude else x
    wrong = (size < low) | (size > high)
    if wrong.any():
        worst = x[tuple(np.argwhere(wrong)[0])]
        sign = "+-" if op.magnitude else ""
        core.fail("range", f"{op} of {source}: {worst:.9g} is not in {sign}[{low:g}, {high:g}]")


_STAGES = {  # of activate2: the operators of its two immediates
    ("multiply", "add"),
    ("multiply", "subtract"),
    ("multiply", "bypass"),
    ("add", "bypass"),
    ("subtract", "bypass"),
    ("bypass", "bypass"),
}


@instruction
def activate2(
    core: Core, dst: Any, op: Any, data: Any, imm0: Any, imm1: Any, op0: Any, op1: Any,
    relu_param: Any = 0.0, reverse0: bool = False, reverse1: bool = False, reduce_op: Any = None,
    reduce_res: Any = None, reduce_cmd: ReduceCommand = ReduceCommand.idle,
) -> None:  # fmt: skip
    """dst = op((data op0 imm0) op1 imm1) on the Scalar Engine of NeuronCore-v4."""
    core.require(core.version >= 4, "version", "activate2 needs NeuronCore-v4")
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.alike(out, source)
    if not isinstance(op, Operator) or op.act is None:
        core.fail("operator", f"op={op!r} is no activation function")
    core.require(relu_param in (0, 0.0), "operator", f"{op} has no parameter")
    names = tuple(getattr(o, "name", "") for o in (op0, op1))
    core.require(names in _STAGES, "operator", f"activate2 has no op0={op0!r} with op1={op1!r}")
    folding = reduce_op if isinstance(reduce_op, Operator) else _ADD
    first, second = core.vector(imm0, source, "imm0"), core.vector(imm1, source, "imm1")
    writes = [out]
    result: Any = None
    if core.values:
        x = core.f32(source).reshape(source.shape[0], -1)
        for stage, value, reverse in ((op0, first, reverse0), (op1, second, reverse1)):
            if stage.name != "bypass":
                x = stage.alu(value, x) if reverse else stage.alu(x, value)
        _in_range(core, op, x, source)
        with np.errstate(all="ignore"):
            result = np.asarray(op.act(x), np.float32)
        core.write(out, result)
    accumulate_into(core, "ACT", result, folding, reduce_cmd, reduce_res, source, writes)
    cycles = max(MIN_CYCLES, out.free) + (MIN_CYCLES if reduce_res is not None else 0)
    core.run("ACT", cycles, (source, imm0, imm1), writes)


@instruction
def exponential(
    core: Core,
    dst: Any,
    src: Any,
    max_value: Any = 0.0,
    reduce_res: Any = None,
    reduce_cmd: ReduceCommand = ReduceCommand.idle,
    reduce_init: Any = 0.0,
) -> None:
    """dst = exp(src - max_value) on the Vector Engine of NeuronCore-v4."""
    core.require(core.version >= 4, "version", "exponential needs NeuronCore-v4")
    out, source = core.tile(dst, "dst"), core.tile(src, "src")
    core.alike(out, source)
    top = core.vector(max_value, source, "max_value")
    writes = [out]
    result: Any = None
    if core.values:
        with np.errstate(over="ignore"):
            result = np.exp(core.f32(source).reshape(source.shape[0], -1) - top)
        core.write(out, result)
    accumulate_into(core, "DVE", result, _ADD, reduce_cmd, reduce_res, source, writes, reduce_init)
    core.run("DVE", max(MIN_CYCLES, out.free), (source, max_value), writes)
