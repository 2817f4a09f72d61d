"""Numbers as constants of a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from dslc.compiler.dtypes import BOOL, DType, encode
from dslc.compiler.vector.folding import constant_of
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand

Given: TypeAlias = Operand | int | float | bool


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
