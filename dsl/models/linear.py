"""A product with a weight of any form: which kernel takes it, and what it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import F16, F32, U8, DType, decode, parse_dtype
from dslc.quantize import Quantized, quantize
from dslc.runtime.elements import Array, storage_dtype


@dataclass(frozen=True, slots=True)
class Form:
    """The kernel of dsl/models/kernels.tile for a weight, its constants, and its arrays.

    `codes` is what is packed, [K, N]; `order` that of the inputs, where it is not their own.
    """

    kernel: str
    rows: int
    columns: int
    constants: Mapping[str, str | int]
    codes: Array
    arrays: Mapping[str, Array]
    order: Array | None = None


@dataclass(frozen=True, slots=True)
class Rounding:
    """How float weights become codes when they are loaded: to nearest, `u4` or another dtype by groups.

    The head takes 8 bits: its errors are errors of the logits themselves.
    """

    dtype: str
    group: int

    @classmethod
    def parse(cls, text: str) -> Rounding:
        """Of a text like `u4:128`. DSL0790 for others."""
        dtype, _, group = text.partition(":")
        known = parse_dtype(dtype)
        if known is None or not group.isdecimal() or int(group) < 1:
            raise error(
                "DSL0790", f"{text!r} is no dtype and group", hint="u4:128, i6:64, f4e2m1:32"
            )
        return cls(dtype, int(group))

    def __call__(self, weight: Array, *, head: bool = False) -> Quantized:
        """Codes of a weight [N, K]; a group that does not divide K is made smaller."""
        group = math.gcd(self.group, weight.shape[1])
        dtype = "i8" if head else self.dtype
        return quantize(np.asarray(weight.T, np.float32), dtype, group, "f16")


def form_of(weight: Array | Quantized, dtype: str) -> Form:
    """Of an array [N, K] as torch stores it, or codes [K, N]; `dtype` is that of the activations."""
    if not isinstance(weight, Quantized):
        dense = np.ascontiguousarray(weight.T.astype(storage_dtype(dtype)))
        return Form("linear", dense.shape[0], dense.shape[1], {}, dense, {})
    scale_dtype, scales = _scales(weight)
    constants: dict[str, str | int] = {
        "W": weight.dtype.name,
        "S": scale_dtype.name,
        "G": weight.group,
    }
    arrays: dict[str, Array] = {"s": scales}
    kernel = "linear_scaled"
    if weight.table is not None:
        kernel, arrays["table"] = "linear_table", weight.table.astype(np.float32)
    elif weight.offsets is not None:
        offsets = weight.offsets
        if offsets.dtype != scales.dtype:
            # Both in f32: the one may be exact there alone.
            constants["S"] = "f32"
            arrays["s"], offsets = scales.astype(np.float32), offsets.astype(np.float32)
        kernel, arrays["z"] = "linear_offsets", offsets
    elif weight.zero_points is not None:
        zeros = weight.zero_points
        fits = int(zeros.max(initial=0)) <= weight.dtype.integer_range[1]
        constants["Z"] = weight.dtype.name if fits else U8.name
        kernel, arrays["z"] = "linear_zeros", zeros
    order = None if weight.row_order is None else weight.row_order.astype(np.int32)
    rows, columns = weight.codes.shape
    return Form(kernel, rows, columns, constants, weight.codes, arrays, order)


def _scales(weight: Quantized) -> tuple[DType, Array]:
    """Scales of f16, bf16 or f32, with the tensor's own in them."""
    bf16 = parse_dtype("bf16")
    if weight.tensor_scale == 1.0 and weight.scale_dtype in (F16, F32, bf16):
        return weight.scale_dtype, weight.scales
    values = decode(weight.scales, weight.scale_dtype).astype(np.float32)
    return F32, values * np.float32(weight.tensor_scale)
