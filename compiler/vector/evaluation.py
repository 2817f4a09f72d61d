"""What instructions between registers do, on NumPy arrays: all lanes at once.

A register is a storage array (`dslc.compiler.dtypes.storage_dtype`) of shape () or (lanes,): its bits
are those of the machine's lanes, so that a bitcast keeps every NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.dtypes import BOOL, DType, cast, decode, encode, storage_dtype, value_dtype
from dslc.compiler.dtypes.packing import unpack_bits
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir.arithmetic import elements
from dslc.compiler.ir.expr import COMPARE_OPS
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.atoms import ATOMS, multiply
from dslc.compiler.vector.faults import VectorFault
from dslc.compiler.vector.types import VectorType

Step: TypeAlias = Callable[..., Array]


def evaluate(instruction: Any, reads: Sequence[Array]) -> Array:
    """The result of an instruction of `vector/instructions.py` for what it reads, in order."""
    with np.errstate(all="ignore"):
        found = _STEPS[type(instruction)](instruction, *reads)
    return np.asarray(found)


def is_evaluated(kind: type[Any]) -> bool:
    """Whether instructions of the class are between registers."""
    return kind in _STEPS


def _dtype(operand: Any) -> DType:
    type_ = operand.type
    assert isinstance(type_, VectorType)
    return type_.dtype


def _unary(i: ins.Unary, x: Array) -> Array:
    dtype = _dtype(i.x)
    if i.op == "trunc":
        return encode(np.trunc(decode(x, dtype)), dtype)
    if dtype == BOOL:
        return np.logical_not(x)
    return encode(np.asarray(elements.unary(i.op, dtype)(decode(x, dtype))), dtype)


def _binary(i: ins.Binary, x: Array, y: Array) -> Array:
    dtype = _dtype(i.x)
    a, b = decode(x, dtype), decode(y, dtype)
    if i.op in _MACHINE:
        return _MACHINE[i.op](a, b, dtype)
    found = np.asarray(elements.binary(i.op, dtype)(a, b))
    return found if i.op in COMPARE_OPS else encode(found, dtype)


def _quotient(x: Array, y: Array, dtype: DType) -> Array:
    _demand(y != 0, "division by 0")
    if dtype.is_signed:
        _demand((x != dtype.integer_range[0]) | (y != -1), "a quotient out of range")
    floor = np.floor_divide(x, y)
    inexact = (x - floor * y != 0) & ((x < 0) != (y < 0))
    return np.asarray(floor + inexact.astype(floor.dtype))


def _remainder(x: Array, y: Array, dtype: DType) -> Array:
    return np.asarray(x - _quotient(x, y, dtype) * y)


def _lshift(x: Array, y: Array, dtype: DType) -> Array:
    _demand((y >= 0) & (y < dtype.bits), "a shift by the width or more")
    return np.asarray(elements.binary("shl", dtype)(x, y))


def _rshift(x: Array, y: Array, dtype: DType) -> Array:
    _demand((y >= 0) & (y < dtype.bits), "a shift by the width or more")
    return np.asarray(elements.binary("shr", dtype)(x, y))


def _mulhi(x: Array, y: Array, dtype: DType) -> Array:
    product = x.astype(object) * y.astype(object)
    return np.asarray(product >> dtype.bits).astype(value_dtype(dtype))


def _scale(x: Array, y: Array, dtype: DType) -> Array:
    _demand((y == np.floor(y)) | np.isnan(y), "a scale that is no whole number")
    exponent = np.clip(np.where(np.isnan(y), 0, y), -5000, 5000).astype(np.int32)
    found = np.ldexp(x.astype(np.float64), exponent).astype(x.dtype)
    return np.asarray(np.where(np.isnan(y), y, found))


def _multishift(x: Array, y: Array, dtype: DType) -> Array:
    words = np.repeat(np.ascontiguousarray(x).view(np.uint64), 8)
    at = (y & 63).astype(np.uint64)
    back = (np.uint64(64) - at) & np.uint64(63)
    return np.asarray(words >> at | words << back).astype(np.uint8)


_MACHINE: dict[str, Callable[[Array, Array, DType], Array]] = {
    "quotient": _quotient,
    "remainder": _remainder,
    "lshift": _lshift,
    "rshift": _rshift,
    "mulhi": _mulhi,
    "scale": _scale,
    "multishift": _multishift,
}


def _demand(held: Array, message: str) -> None:
    if not np.all(held):
        raise VectorFault(message)


def _fma(i: ins.Fma, x: Array, y: Array, z: Array) -> Array:
    dtype = _dtype(i.x)
    found = elements.fma(dtype)(*(decode(a, dtype) for a in (x, y, z)))
    return encode(np.asarray(found), dtype)


def _select(i: ins.Select, condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


def _convert(i: ins.Convert, x: Array) -> Array:
    src, dst = _dtype(i.x), _dtype(i.out)
    values = decode(x, src)
    if i.in_range:
        _demand_range(np.trunc(values), dst)
    return encode(cast(values, src, dst, i.saturate), dst)


def _nearest(i: ins.Nearest, x: Array) -> Array:
    dst = _dtype(i.out)
    values = np.rint(decode(x, _dtype(i.x)))
    _demand_range(values, dst)
    return encode(values.astype(value_dtype(dst)), dst)


def _demand_range(values: Array, dtype: DType) -> None:
    least, greatest = dtype.integer_range
    wide = values.astype(np.float64)
    _demand((wide >= least) & (wide < float(greatest + 1)), f"a number out of {dtype}'s range")


def _bitcast(i: ins.Bitcast, x: Array) -> Array:
    src, out = _dtype(i.x), i.out.type
    assert isinstance(out, VectorType)
    flat = np.ascontiguousarray(x).reshape(-1)
    if src.bits == out.dtype.bits:
        unsigned = flat.view(f"u{flat.itemsize}")
        return from_bits(unsigned, out.dtype).reshape(() if out.lanes is None else (out.lanes,))
    if out.dtype.bits < 8:
        codes = unpack_bits(flat.view(np.uint8), out.dtype.bits, out.count)
        bits = np.asarray(codes).view(np.uint8)
    else:
        bits = flat.view(f"u{storage_dtype(out.dtype).itemsize}")
    return from_bits(bits, out.dtype).reshape(() if out.lanes is None else (out.lanes,))


def from_bits(bits: Array, dtype: DType) -> Array:
    """Unsigned bit patterns as a storage array; bits above the dtype's width are ignored."""
    if dtype == BOOL:
        return np.asarray(bits != 0)
    if dtype.bits < 8:
        bits = bits & bits.dtype.type((1 << dtype.bits) - 1)
        if dtype.is_integer and dtype.is_signed:
            sign = bits.dtype.type(1 << (dtype.bits - 1))
            bits = (bits ^ sign) - sign
    return np.asarray(bits).view(storage_dtype(dtype))


def _broadcast(i: ins.Broadcast, x: Array) -> Array:
    assert isinstance(i.out.type, VectorType)
    return np.broadcast_to(x, (i.out.type.count,))


def _shuffle(i: ins.Shuffle, x: Array, *rest: Array) -> Array:
    return np.asarray(np.concatenate([x, *rest])[list(i.indices)])


def _permute(i: ins.Permute, table: Array, index: Array) -> Array:
    return np.asarray(table[index.astype(np.int64) & (len(table) - 1)])


def _extract(i: ins.Extract, x: Array, lane: Array) -> Array:
    _demand((lane >= 0) & (lane < len(x)), f"lane {lane} of {len(x)}")
    return np.asarray(x[int(lane)])


def _insert(i: ins.Insert, x: Array, value: Array, lane: Array) -> Array:
    _demand((lane >= 0) & (lane < len(x)), f"lane {lane} of {len(x)}")
    found = x.copy()
    found[int(lane)] = value
    return found


def _reduce(i: ins.Reduce, x: Array) -> Array:
    dtype = _dtype(i.x)
    function = elements.binary(i.op, dtype)
    while len(x) > 1:
        half = (len(x) + 1) // 2
        low, high = decode(x[: len(x) - half], dtype), decode(x[half:], dtype)
        x = np.concatenate(
            [encode(np.asarray(function(low, high)), dtype), x[len(x) - half : half]]
        )
    return np.asarray(x[0])


def _dot(i: ins.Dot, a: Array, b: Array, acc: Array | None = None) -> Array:
    return multiply(ATOMS[i.atom], a, b, acc)


_STEPS: dict[type[Any], Step] = {
    ins.Unary: _unary,
    ins.Binary: _binary,
    ins.Fma: _fma,
    ins.Select: _select,
    ins.Convert: _convert,
    ins.Nearest: _nearest,
    ins.Bitcast: _bitcast,
    ins.Broadcast: _broadcast,
    ins.Shuffle: _shuffle,
    ins.Permute: _permute,
    ins.Extract: _extract,
    ins.Insert: _insert,
    ins.Reduce: _reduce,
    ins.Dot: _dot,
}
