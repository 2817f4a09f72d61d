"""Arrays whose elements do not lie as a kernel reads them: taken by a copy, and written back.

A kernel knows its tensors row by row, or by strides that it names, whole elements apart and never
backwards. A slice with steps, a transposed or reversed array is neither: a copy of it is, which costs
what it moves, at each call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.artifact import Param, Signature
from dslc.runtime.buffers import as_array, element_strides
from dslc.runtime.native.processor import Array
from dslc.runtime.overlaps import refuse_overlaps, share_elements

Pairs: TypeAlias = "list[tuple[Array, Array]]"


def laid_out(signature: Signature, args: Mapping[str, Any]) -> tuple[Mapping[str, Any], Pairs]:
    """The arguments with copies in place of such arrays, and what is written back after the call.

    Written back are pairs of an array and its copy. DSL076x for arrays that are none, DSL0742 where
    one that is written overlaps another.
    """
    tensors = [p for p in signature.params if p.dims is not None and p.packed is None]
    arrays = {
        p.name: as_array(args[p.name], p.dtype, param=p.name, writable=p.mode != "in")
        for p in tensors
    }
    apart = [p for p in tensors if not _fits(p, arrays[p.name])]
    if not apart:
        return args, []
    refuse_overlaps({p.name: p.mode for p in tensors}, arrays, share_elements)
    copies = {p.name: arrays[p.name].copy(order="C") for p in apart}
    written = [(arrays[p.name], copies[p.name]) for p in apart if p.mode != "in"]
    return {**args, **copies}, written


def write_back(pairs: Pairs) -> None:
    """What a call wrote to copies, to the arrays that they stand for."""
    for array, copy in pairs:
        np.copyto(array, copy)


def _fits(p: Param, array: Array) -> bool:
    """Whether a kernel reads the array where it is; one of another rank is refused elsewhere."""
    if array.ndim != len(p.dims or ()):
        return True
    if p.strides is None:
        return bool(array.flags.c_contiguous)
    strides = element_strides(array)
    return strides is not None and not any(
        s < 0 and n > 1 for s, n in zip(strides, array.shape, strict=True)
    )
