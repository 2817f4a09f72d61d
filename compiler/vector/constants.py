"""Constants: from numbers, from storage arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from dslc.compiler.dtypes import BOOL, DType, decode, encode, storage_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant


def constant(value: float, type_: VectorType) -> Constant:
    """The number rounded to the dtype, in all lanes; integers wrap."""
    kind = np.float64 if type_.dtype.is_float else None
    if type_.dtype.is_integer:
        least, greatest = type_.dtype.integer_range
        value = (int(value) - least) % (greatest - least + 1) + least
        return Constant((value,), type_)
    if type_.dtype == BOOL:
        return Constant((bool(value),), type_)
    return constant_of(encode(np.asarray([value], kind), type_.dtype), type_)


def lanes_of(values: Sequence[int | float | bool], dtype: DType) -> Constant:
    """A vector of known numbers, each rounded to the dtype."""
    type_ = VectorType(dtype, len(values))
    single = tuple(constant(v, VectorType(dtype)).values[0] for v in values)
    return Constant(single if len({repr(v) for v in single}) > 1 else single[:1], type_)


def constant_of(codes: Array, type_: VectorType) -> Constant:
    """A storage array, one element a lane, as a constant; equal lanes become a splat."""
    values = decode(np.asarray(codes), type_.dtype).reshape(-1)
    flat = values.tolist()
    if len({repr(v) for v in flat}) == 1:
        flat = flat[:1]
    return Constant(tuple(flat), type_)


def codes_of(constant: Constant) -> Array:
    """The storage array of a constant: of shape () for a scalar, else (lanes,)."""
    dtype = constant.type.dtype
    kind = np.float64 if dtype.is_float else storage_dtype(dtype)
    values = np.asarray(constant.values, kind)
    codes = encode(values, dtype) if dtype.is_float else values
    lanes = constant.type.lanes
    return codes.reshape(()) if lanes is None else np.broadcast_to(codes, (lanes,))
