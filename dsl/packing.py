"""Low-bit parameters: from codes to the storage that a kernel loads, and back.

Codes are one element a byte: integers as their value, floats as their bit pattern. The artifact says
how each parameter is stored: as packed bytes, or as the codes themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from dslc.arguments import Array
from dslc.compiler.artifact import Param
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import storage_dtype
from dslc.runtime import packing
from dslc.runtime.buffers import as_array, import_array
from dslc.runtime.expression import evaluate
from dslc.signature import Parameter


def pack(parameter: Parameter, stored: Param, codes: object) -> Array:
    """Codes as the parameter is stored. DSL0746, and DSL078x for codes that do not fit."""
    _check_low_bit(parameter)
    array = as_array(codes, parameter.dtype.name, param=parameter.name)
    if array.ndim != parameter.rank:
        text = f"codes of shape {array.shape} do not fit {parameter}"
        raise error("DSL0746", text, hint="what is packed already is passed as it is")
    if stored.packed is None:
        return np.ascontiguousarray(array)
    return packing.pack(array, stored.packed)


def as_stored(parameter: Parameter, stored: Param, array: Array) -> Array:
    """A call's argument as the kernel takes it: codes are packed where it wants bytes in tiles.

    A kernel takes both forms of a `packed row` parameter, and of one axis only it can tell them apart.
    """
    scheme = None if stored.packed is None else stored.packed["scheme"]
    may_be_bytes = scheme is not None and array.dtype == np.uint8
    if may_be_bytes and (array.ndim != parameter.rank or (scheme == "row" and array.ndim == 1)):
        return array
    if scheme == "tiles":
        return pack(parameter, stored, array)
    name = parameter.name
    return as_array(array, parameter.dtype.name, param=name, writable=parameter.is_written)


def unpack(parameter: Parameter, stored: Param, packed: object, dims: Mapping[str, int]) -> Array:
    """The codes of a stored parameter, whose shape follows from the dims."""
    _check_low_bit(parameter)
    data = import_array(packed, param=parameter.name)
    if stored.packed is None:
        return data.view(storage_dtype(parameter.dtype))
    shape = [evaluate(text, dims) for text in stored.dims or ()]
    return packing.unpack(data, stored.packed, shape)


def _check_low_bit(parameter: Parameter) -> None:
    if parameter.dims is None or not parameter.dtype.is_low_bit:
        hint = "tensors of dtypes below 8 bits have one"
        raise error("DSL0746", f"{parameter} has no packed storage", hint=hint)
