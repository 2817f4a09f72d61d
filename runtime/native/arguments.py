"""A call's arguments checked and bound: arrays in the storage of kernels, dims by their shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from dslc.compiler.artifact import Param, Signature
from dslc.compiler.diagnostics import error
from dslc.runtime.binding import bind_dims
from dslc.runtime.buffers import as_array, element_strides, import_array
from dslc.runtime.expression import Number, evaluate
from dslc.runtime.native.processor import Array
from dslc.runtime.overlaps import refuse_overlaps, share_elements
from dslc.runtime.packing import packed_shape
from dslc.runtime.scalars import as_dtype, plain_number


def bind_arguments(
    signature: Signature, args: Mapping[str, Any], dims: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Number]]:
    """The tensors by name, and the values of dims and scalars.

    `dims` are those that the caller knows: packed bytes tell none. DSL075x and DSL076x for arguments
    that do not fit.
    """
    arrays: dict[str, Array] = {}
    strides: dict[str, tuple[int, ...]] = {}
    scalars: dict[str, Number] = {}
    for p in signature.params:
        if p.dims is None:
            scalars[p.name] = as_dtype(plain_number(args[p.name]), p.dtype)
        elif p.packed is not None:
            arrays[p.name] = np.ascontiguousarray(import_array(args[p.name], param=p.name))
        else:
            array = as_array(args[p.name], p.dtype, param=p.name, writable=p.mode != "in")
            arrays[p.name], strides[p.name] = array, _strides(p, array)
    refuse_overlaps({p.name: p.mode for p in signature.params}, arrays, share_elements)
    shapes = {
        p.name: arrays[p.name].shape if p.packed is None else None for p in _tensors(signature)
    }
    values = bind_dims(signature, shapes, strides, {**dims, **scalars})
    for p in _tensors(signature):
        if p.packed is not None:
            _check_packed(p, arrays[p.name], values)
    return arrays, values


def _tensors(signature: Signature) -> list[Param]:
    return [p for p in signature.params if p.dims is not None]


def _strides(p: Param, array: Array) -> tuple[int, ...]:
    """The strides in elements; DSL0753 for an axis that runs backwards or between elements."""
    strides = element_strides(array)
    if strides is None or any(s < 0 and n > 1 for s, n in zip(strides, array.shape, strict=True)):
        raise error(
            "DSL0753",
            f"argument {p.name} has strides of {array.strides} bytes: a kernel reads whole elements, "
            "and no axis backwards",
            hint="copy it (.copy())",
        )
    return strides


def _check_packed(p: Param, array: Array, values: Mapping[str, Number]) -> None:
    """DSL0752 where the bytes of a packed parameter are not as many as its shape takes."""
    assert p.packed is not None
    wanted = packed_shape(p.packed, [evaluate(text, values) for text in p.dims or ()])
    if array.dtype != np.uint8 or array.shape != wanted:
        raise error(
            "DSL0752",
            f"argument {p.name} is {array.dtype} of shape {array.shape}, expected its packed bytes: "
            f"uint8 of shape {wanted}",
            hint=f'kernel.pack("{p.name}", codes) gives them',
        )
