"""A product with a weight of any form: which kernel takes it, and what it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
class Product:
    """A form without its arrays; `extras` are `bias` and `order`, where the product has them."""

    kernel: str
    rows: int
    columns: int
    constants: Mapping[str, str | int]
    extras: tuple[str, ...] = ()


Rounding = Callable[[str, Array, str], Quantized]
"""How the float weight [N, K] of a part becomes codes; scales are of the type of the activations, the
last argument, if that has 16 bits."""

Factoring = Callable[[str, Array], tuple[Array, Array] | None]
"""The factors [R, K] and [N, R] that take the place of a part's float weight [N, K], if any do."""


@dataclass(frozen=True, slots=True)
class ToNearest:
    """Each weight to the nearest code of `dtype`, by groups that are made to divide K.

    The head takes 8 bits: its errors are errors of the logits themselves.
    """

    dtype: str
    group: int

    @classmethod
    def parse(cls, text: str) -> ToNearest:
        """Of a text like `u4:128`. DSL0790 for others."""
        dtype, _, group = text.partition(":")
        known = parse_dtype(dtype)
        if known is None or not group.isdecimal() or int(group) < 1:
            raise error(
                "DSL0790", f"{text!r} is no dtype and group", hint="u4:128, i6:64, f4e2m1:32"
            )
        return cls(dtype, int(group))

    def __call__(self, name: str, weight: Array, activations: str) -> Quantized:
        """Codes of a weight [N, K] of the part `name`."""
        dtype = "i8" if name == "head" else self.dtype
        return quantize(weight.T, dtype, self.group_of(weight), scale_dtype(activations))

    def group_of(self, weight: Array) -> int:
        """The rows of a group of this weight [N, K]."""
        return math.gcd(self.group, weight.shape[1])


def scale_dtype(activations: str) -> str:
    """The type of scales beside activations of a type."""
    return "bf16" if activations == "bf16" else "f16"


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
        constants["ENTRIES"] = weight.table.size
    elif weight.offsets is not None:
        offsets = weight.offsets
        if offsets.dtype != scales.dtype:
            # Both in f32: the one may be exact there alone.
            constants["S"] = "f32"
            arrays["s"], offsets = scales.astype(np.float32), offsets.astype(np.float32)
        kernel, arrays["z"] = "linear_offsets", offsets
    elif weight.zero_points is not None:
        # A byte each: machines may store packed ones in another way for other rows of the product.
        constants["Z"] = U8.name
        kernel, arrays["z"] = "linear_zeros", weight.zero_points.astype(np.uint8)
    if kernel in ("linear_scaled", "linear_zeros"):
        # An integer of 8 bits and fewer, or its difference to another, is a number of any T.
        constants["NARROW"] = int(weight.dtype.is_integer and constants["S"] == dtype)
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


def joined(
    weights: Sequence[Array | Quantized], biases: Sequence[Array | Quantized | None]
) -> tuple[Array | Quantized, Array | None] | None:
    """Products of one input as one, their columns side by side, with its bias.

    None where they are of unlike forms, so that each has to be multiplied by itself.
    """
    bias = _side_by_side(biases, 0)
    if bias is None and any(b is not None for b in biases):
        return None
    first, *others = weights
    if not isinstance(first, Quantized):
        dense = _side_by_side(weights, 0)
        return None if dense is None else (dense, bias)
    members: list[Quantized] = [first]
    for other in others:
        if not isinstance(other, Quantized) or not _alike(first, other):
            return None
        members.append(other)
    whole = replace(
        first,
        codes=np.concatenate([m.codes for m in members], axis=1),
        scales=np.concatenate([m.scales for m in members], axis=1),
        zero_points=_side_by_side([m.zero_points for m in members], 1),
        offsets=_side_by_side([m.offsets for m in members], 1),
    )
    return whole, bias


def _alike(one: Quantized, other: Quantized) -> bool:
    """Whether both differ in nothing but the numbers of codes, scales, zero points and offsets."""
    return (
        (one.dtype, one.scale_dtype, one.group, one.tensor_scale)
        == (other.dtype, other.scale_dtype, other.group, other.tensor_scale)
        and _equal(one.table, other.table)
        and _equal(one.row_order, other.row_order)
        and _kind(one.zero_points) == _kind(other.zero_points)
        and _kind(one.offsets) == _kind(other.offsets)
        and one.scales.dtype == other.scales.dtype
    )


def _equal(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _kind(array: Array | None) -> np.dtype[Any] | None:
    return None if array is None else array.dtype


def _side_by_side(arrays: Sequence[object], axis: int) -> Array | None:
    """None where one of them is missing or of another type."""
    dense = [a for a in arrays if isinstance(a, np.ndarray)]
    if len(dense) < len(arrays) or len({a.dtype for a in dense}) > 1:
        return None
    return dense[0] if len(dense) == 1 else np.concatenate(dense, axis=axis)
