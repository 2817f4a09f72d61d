"""Element by element: copies, fills, the two-operand instructions and selections."""

from __future__ import annotations

from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import FLOATS, HALF, Array, convert
from dslc.runtime.nki_simulator.engines.operators import OPERATORS, Operator
from dslc.runtime.nki_simulator.engines.reductions import ReduceCommand, accumulate_into
from dslc.runtime.nki_simulator.interface.operators import ON_GPSIMD, ON_SCALAR
from dslc.runtime.nki_simulator.machine import MIN_CYCLES
from dslc.runtime.nki_simulator.neuroncore import Core, Engine, instruction
from dslc.runtime.nki_simulator.tensors import PSUM, Tensor, is_dense

_EXACT = ("int32", "uint32")
_FAST = ("add", "subtract", "multiply")


def operator(core: Core, value: Any, what: str, bits: bool | None = None) -> Operator:
    """An operator of the ALUs; `bits` says which kind it has to be."""
    if not isinstance(value, Operator) or value.alu is None:
        core.fail("operator", f"{what}={value!r} is no operator of the ALUs")
    if bits is not None and value.bits != bits:
        kind = "bitvec" if bits else "arithmetic"
        core.fail("operator", f"{what}={value!r} is no {kind} operator")
    return value


def apply(op: Operator, a: Any, b: Any, reverse: bool = False) -> Any:
    """One operator in the ALU's arithmetic."""
    assert op.alu is not None
    with np.errstate(all="ignore"):
        if op.unary:
            return op.alu(a)
        return op.alu(b, a) if reverse else op.alu(a, b)


def half_rate(core: Core, n: int, *tiles: Tensor) -> float:
    """Cycles of a copy or tensor_scalar on the DVE, which is faster for half floats from v3 on."""
    if core.version < 3 or any(t.dtype not in HALF for t in tiles):
        return n
    contiguous = all(is_dense(t.shape[1:], t.steps[1:]) for t in tiles)
    in_psum = sum(t.buffer == PSUM for t in tiles)
    if in_psum == 0:
        return n / (4 if contiguous else 2)
    return n / 2 if contiguous and in_psum == 1 else n


@instruction
def tensor_copy(core: Core, dst: Any, src: Any, engine: Engine = Engine.unknown) -> None:
    """dst = src on the chip: bit by bit where the types agree, else through float32."""
    out, source = core.tile(dst, "dst"), core.tile(src, "src")
    core.alike(out, source)
    allowed = ("DVE", "Pool") if core.version == 2 else ("DVE", "ACT", "Pool")
    queue = core.pick(engine, allowed, out, source)
    if core.values:
        core.write(out, convert(core.read(source), source.dtype, out.dtype))
    n = half_rate(core, out.free, out, source) if queue == "DVE" else out.free
    core.run(queue, max(MIN_CYCLES, n), (source,), (out,))


@instruction
def memset(core: Core, dst: Any, value: float, engine: Engine = Engine.unknown) -> None:
    """dst = value."""
    out = core.tile(dst, "dst")
    queue = core.pick(engine, ("DVE", "Pool"), out)
    if core.values:
        whole = out.dtype not in FLOATS
        core.write(out, np.full(out.shape, value, np.int64 if whole else np.float32))
    n = out.free / 2 if out.dtype in HALF and not value else out.free
    core.run(queue, max(MIN_CYCLES, n), (), (out,))


@instruction
def tensor_tensor(
    core: Core, dst: Any, data1: Any, data2: Any, op: Any, engine: Engine = Engine.unknown
) -> None:
    """dst = data1 op data2 in float32; exact on whole 32-bit integers by GpSimd."""
    out, a, b = core.tile(dst, "dst"), core.tile(data1, "data1"), core.tile(data2, "data2")
    core.alike(out, a, b)
    core.require(
        not (a.buffer == PSUM and b.buffer == PSUM), "both-psum", f"{a} and {b} are both in PSUM"
    )
    function = operator(core, op, "op")
    in_psum = PSUM in (out.buffer, a.buffer, b.buffer)
    whole = all(t.dtype in _EXACT for t in (out, a, b))
    if function.name == "power":
        queue = core.pick(Engine.gpsimd, ("Pool",), out, a, b)
    elif function.bits:
        queue = core.pick(engine, ("DVE",), out, a, b)
        _integers(core, out, a, b)
    else:
        exact = whole and not in_psum and engine is Engine.unknown
        queue = core.pick(Engine.gpsimd if exact else engine, ("DVE", "Pool"), out, a, b)
        core.require(
            queue != "Pool" or whole or function.name in ON_GPSIMD,
            "operator",
            f"GpSimd's tensor_tensor has no {function} of {a} and {b}",
        )
    if core.values:
        core.write(out, _combine(core, function, a, b, out, whole and queue == "Pool"))
    fast = queue == "DVE" and _at_full_rate(core, function, out, a, b)
    core.run(queue, max(MIN_CYCLES, out.free * (1 if fast else 2)), (a, b), (out,))


def _at_full_rate(core: Core, op: Operator, out: Tensor, a: Tensor, b: Tensor) -> bool:
    """Whether the DVE takes two tiles in one cycle an element: they come of two memories, or are short.

    Short are halves from v3 on, and what is added or multiplied in bfloat16, element behind element.
    """
    if PSUM in (a.buffer, b.buffer):
        return a.buffer != b.buffer
    tiles = (out, a, b)
    if core.version >= 3 and all(t.dtype in HALF for t in tiles):
        return True
    dense = all(is_dense(t.shape[1:], t.steps[1:]) for t in tiles)
    return op.name in _FAST and dense and all(t.dtype == "bfloat16" for t in tiles)


def _integers(core: Core, *tiles: Tensor) -> None:
    for t in tiles:
        core.require(t.dtype not in FLOATS, "dtype", f"a bitvec operator takes integers, not {t}")


def _combine(core: Core, op: Operator, a: Tensor, b: Tensor, out: Tensor, exact: bool) -> Array:
    shape = (out.shape[0], out.free)
    if op.bits or exact:
        left, right = (core.read(t).reshape(shape) for t in (a, b))
        wide = apply(op, left, right.astype(left.dtype) if op.bits else right)
        held = out.values().dtype
        return np.asarray(wide).astype(held)  # wraps as the machine's integers do
    return np.asarray(apply(op, core.f32(a).reshape(shape), core.f32(b).reshape(shape)))


@instruction
def tensor_scalar(
    core: Core, dst: Any, data: Any, op0: Any, operand0: Any, reverse0: bool = False, op1: Any = None,
    operand1: Any = None, reverse1: bool = False, engine: Engine = Engine.unknown,
) -> None:  # fmt: skip
    """dst = (data op0 operand0) op1 operand1; operands are numbers or float32 columns."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.alike(out, source)
    first = operator(core, op0, "op0")
    ops = [(first, operand0, reverse0)]
    if op1 is not None:
        ops.append((operator(core, op1, "op1", first.bits), operand1, reverse1))
    elif operand1 is not None:
        core.fail("signature", "operand1 is given without op1")
    queue = _scalar_engine(core, engine, [op.name for op, _, _ in ops], first.bits, out, source)
    if first.bits:
        _integers(core, out, source)
    result = None
    if core.values:
        raw = core.read(source).reshape(source.shape[0], -1)
        result = raw if first.bits else raw.astype(np.float32)
    for number, (op, operand, reverse) in enumerate(ops):
        what = f"operand{number}"
        if op.unary:
            core.require(operand in (None, 0, 0.0), "operand", f"{what} of {op} is None or 0")
            value = None
        elif op.bits:
            value = _bit_operand(core, operand, source, what)
        else:
            value = core.vector(operand, source, what)
        if core.values:
            result = apply(op, result, value, reverse)
    if core.values:
        core.write(out, np.asarray(result).astype(out.values().dtype) if first.bits else result)
    n = half_rate(core, out.free, out, source) if queue == "DVE" else out.free
    core.run(queue, max(MIN_CYCLES, n), (source, operand0, operand1), (out,))


def _scalar_engine(core: Core, engine: Engine, names: list[str], bits: bool, *tiles: Tensor) -> str:
    if bits:
        return core.pick(engine, ("DVE",), *tiles)
    if names[0] == "rsqrt" and engine is Engine.unknown:
        return core.pick(engine, ("Pool",) if PSUM not in {t.buffer for t in tiles} else ("DVE",))
    queue = core.pick(engine, ("DVE", "ACT", "Pool"), *tiles)
    core.require(
        queue != "Pool" or names == ["rsqrt"], "operator", "GpSimd's tensor_scalar is for nl.rsqrt"
    )
    if queue == "ACT" and tuple(names) not in ON_SCALAR:
        core.fail("operator", f"the Scalar Engine has no tensor_scalar of {', '.join(names)}")
    return queue


def _bit_operand(core: Core, operand: Any, source: Tensor, what: str) -> Any:
    """An integer, or a column of integers."""
    if isinstance(operand, Tensor):
        core.tile(operand, what)
        _integers(core, operand)
        if operand.shape[0] != source.shape[0] or operand.free != 1:
            core.fail("operand", f"{what} {operand} is no column for {source}")
        held = core.read(operand).reshape(-1, 1) if core.values else None
        return held.astype(source.values().dtype) if held is not None else None
    core.require(isinstance(operand, (int, np.integer)), "operand", f"{what} is no integer")
    return np.array(int(operand)).astype(source.values().dtype) if core.values else None


@instruction
def scalar_tensor_tensor(
    core: Core, dst: Any, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any,
    reverse0: bool = False, reverse1: bool = False,
) -> None:  # fmt: skip
    """dst = (data op0 operand0) op1 operand1, where operand1 is a tile."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    other = core.tile(operand1, "operand1")
    core.alike(out, source, other)
    if source.buffer == PSUM and other.buffer == PSUM:
        core.fail("both-psum", f"{source} and {other} are both in PSUM")
    first, second = operator(core, op0, "op0", False), operator(core, op1, "op1", False)
    column = core.vector(operand0, source, "operand0", any_float=True)
    if core.values:
        shape = (source.shape[0], -1)
        scaled = apply(first, core.f32(source).reshape(shape), column, reverse0)
        core.write(out, apply(second, scaled, core.f32(other).reshape(shape), reverse1))
    short = source.dtype == other.dtype == "bfloat16" and out.free % 2 == 0
    fast = short and (first.name, second.name) == ("subtract", "multiply")
    n = out.free if fast else 2 * out.free
    core.run("DVE", max(MIN_CYCLES, n), (source, operand0, other), (out,))


@instruction
def reciprocal(core: Core, dst: Any, data: Any) -> None:
    """dst = 1 / data on the DVE, eight cycles an element."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    core.alike(out, source)
    if core.values:
        with np.errstate(divide="ignore"):
            core.write(out, np.float32(1) / core.f32(source))
    core.run("DVE", max(MIN_CYCLES, 8 * out.free), (source,), (out,))


@instruction
def tensor_copy_predicated(
    core: Core, dst: Any, src: Any, predicate: Any, reverse_pred: bool = False
) -> None:
    """dst = src where the predicate holds; elsewhere dst stays."""
    out, mask = core.tile(dst, "dst"), core.tile(predicate, "predicate")
    core.alike(out, mask)
    core.require(mask.dtype in ("uint8", "uint16", "uint32"), "dtype", f"predicate {mask}")
    reads: tuple[Any, ...] = (mask, out)
    if isinstance(src, Tensor):
        source = core.tile(src, "src")
        core.alike(out, source)
        core.require(source.dtype == out.dtype, "dtype", f"src {source} is not of dst's type")
        if source.buffer == PSUM and mask.buffer == PSUM:
            core.fail("both-psum", f"{source} and {mask} are both in PSUM")
        reads = (source, mask, out)
    else:
        kind = isinstance(src, float) == (out.dtype in FLOATS)
        core.require(kind, "dtype", f"src {src!r} is not of the kind of dst's {out.dtype}")
    if core.values:
        keep = (core.read(mask).reshape(out.shape) != 0) != reverse_pred
        new = core.read(src).reshape(out.shape) if isinstance(src, Tensor) else src
        core.write(out, np.where(keep, np.asarray(new, out.values().dtype), core.read(out)))
    apart = isinstance(src, Tensor) and (src.buffer == PSUM) != (mask.buffer == PSUM)
    core.run("DVE", max(MIN_CYCLES, out.free if apart else 2 * out.free), reads, (out,))


@instruction
def select_reduce(
    core: Core,
    dst: Any,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: ReduceCommand = ReduceCommand.idle,
    reduce_op: Any = OPERATORS["maximum"],
    reverse_pred: bool = False,
) -> None:
    """dst = on_true where the predicate holds, else on_false; with the maximum of each partition."""
    out, mask = core.tile(dst, "dst"), core.tile(predicate, "predicate")
    source = core.tile(on_true, "on_true")
    core.alike(out, mask, source)
    core.require(mask.dtype in ("int8", "uint8", "int16", "uint16"), "dtype", f"predicate {mask}")
    core.require(source.dtype not in ("tfloat32", *_EXACT), "dtype", f"on_true {source}")
    if source.buffer == PSUM and mask.buffer == PSUM:
        core.fail("both-psum", f"{source} and {mask} are both in PSUM")
    core.require(
        operator(core, reduce_op, "reduce_op").name == "maximum", "operator", f"{reduce_op!r}"
    )
    other = core.vector(on_false, source, "on_false", any_float=True)
    writes = [out]
    chosen: Any = None
    if core.values:
        shape = (out.shape[0], -1)
        keep = (core.read(mask).reshape(shape) != 0) != reverse_pred
        chosen = np.where(keep, core.f32(source).reshape(shape), other)
        core.write(out, chosen)
    accumulate_into(core, "DVE", chosen, OPERATORS["maximum"], reduce_cmd, reduce_res, out, writes)
    core.run("DVE", max(MIN_CYCLES, 2 * out.free), (source, mask, on_false), writes)
