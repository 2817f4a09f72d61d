"""The tensors that one quantised weight consists of, taken by name and checked.

pieces = Pieces(tensors, "model.layers.0.mlp.up_proj")
words = pieces.take("qweight", "i4", 2)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import E8M0, F16, F32, F64, DType, from_ml_dtypes
from dslc.runtime.elements import Array

_PLAIN = {"float16": F16, "float32": F32, "float64": F64}


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tensors of a module, called `module.SUFFIX`."""

    tensors: Mapping[str, Array]
    module: str

    def has(self, suffix: str) -> bool:
        """Whether the checkpoint has the piece."""
        return f"{self.module}.{suffix}" in self.tensors

    def take(self, suffix: str, kinds: str, rank: int | None = None) -> Array:
        """A piece; `kinds` are the kinds of NumPy that it may be of, `V` those of ml_dtypes.

        DSL0785 where it is missing, of another kind or of another rank.
        """
        name = f"{self.module}.{suffix}"
        if name not in self.tensors:
            raise error("DSL0785", f"{self.module} has no {suffix}")
        array = self.tensors[name]
        if array.dtype.kind not in kinds:
            raise error("DSL0785", f"{name} is of {array.dtype}, which is not what it should be")
        if rank is not None and array.ndim != rank:
            raise error("DSL0785", f"{name} has shape {array.shape}, not {rank} axes")
        return array

    def wrong(self, what: str) -> DiagnosticError:
        """The error of pieces that do not fit each other."""
        return error("DSL0785", f"{self.module}: {what}")

    def not_read(self, what: str) -> DiagnosticError:
        """The error of a form that there is no reader for."""
        return error("DSL0786", f"{self.module}: {what}")


def float_scales(array: Array) -> tuple[DType, Array]:
    """Scales as calls take them: their dtype, and storage (bit patterns of floats of 8 bits).

    Bytes are e8m0.
    """
    if array.dtype == np.uint8:
        return E8M0, np.ascontiguousarray(array)
    dtype = from_ml_dtypes(array.dtype) or _PLAIN[array.dtype.name]
    return dtype, np.ascontiguousarray(array.view(np.uint8) if dtype.bits == 8 else array)


def in_groups(pieces: Pieces, index: Array, rows: int, group: int) -> Array | None:
    """The order of rows in which groups lie together, None where they do so already (act-order).

    DSL0786 where groups have unlike numbers of rows, which no kernel takes.
    """
    if index.shape != (rows,):
        raise pieces.wrong(f"g_idx has shape {index.shape} for {rows} rows")
    if (index == np.arange(rows) // group).all():
        return None
    order = np.argsort(index, kind="stable")
    if not (index[order] == np.arange(rows) // group).all():
        raise pieces.not_read(f"g_idx does not deal the rows to groups of {group}")
    return order
