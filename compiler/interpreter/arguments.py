"""Arguments of a launch: arrays and numbers checked against the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.diagnostics.suggest import suggest
from dslc.compiler.dtypes import (
    DType,
    Kind,
    from_ml_dtypes,
    packed_bytes,
    storage_dtype,
)
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.dims import bind_dims, evaluate, shape_text
from dslc.compiler.interpreter.tensors import unpack_codes
from dslc.compiler.ir import Memory, Param, Requirement, Role
from dslc.compiler.ir.arithmetic.scalar_functions import constant
from dslc.compiler.ir.expr import Var, free_vars

Argument: TypeAlias = Array | float | bool
Scalars: TypeAlias = dict[Var, Any]


def check_names(params: Sequence[Param], args: Mapping[str, Argument]) -> None:
    """Every parameter has an argument and the reverse; DSL0755."""
    names = [p.name for p in params]
    for name in args:
        if name not in names:
            near = suggest(name, names)
            raise error(
                "DSL0755",
                f"there is no parameter {name}",
                hint=f"did you mean {near}?" if near else f"the parameters: {', '.join(names)}",
            )
    for p in params:
        if p.name not in args:
            raise error("DSL0755", f"argument {p.name} is missing", getattr(p, "loc", None))


def as_codes(p: Memory, given: Argument) -> Array:
    """The argument as a storage array, or as the flat bytes of a `packed row` parameter.

    It is the caller's memory but for ml_dtypes' narrow signed integers, whose bytes are not their
    values. DSL0756 for another type or an integer out of range, DSL0757 for a read-only `out`.
    """
    if not isinstance(given, np.ndarray):
        raise error(
            "DSL0756",
            f"argument {p.name} is a {type(given).__name__}, expected an array of {p.dtype}",
            p.loc,
        )
    if p.role in (Role.OUT, Role.INOUT) and not given.flags.writeable:
        raise error("DSL0757", f"argument {p.name} is written, but its array is read-only", p.loc)
    codes = given if _may_be_packed(p, given) else _storage(p.dtype, given)
    if codes is None:
        wanted = storage_dtype(p.dtype)
        raise error(
            "DSL0756",
            f"argument {p.name} has dtype {given.dtype}, expected {wanted} (for {p.dtype})",
            p.loc,
            hint=f"convert it: {p.name}.astype({str(wanted)!r})",
        )
    if codes.size and p.role is not Role.OUT and not _may_be_packed(p, given):
        _check_range(p, codes)
    return codes


def _storage(dtype: DType, given: Array) -> Array | None:
    """The storage array of an array of this dtype, None for one of another type."""
    wanted = storage_dtype(dtype)
    if given.dtype == wanted:
        return given
    if from_ml_dtypes(given.dtype) == dtype:
        narrow = dtype.is_integer and dtype.is_signed
        return given.astype(wanted) if narrow else given.view(wanted)
    if dtype.is_low_bit and dtype.is_integer and given.dtype in (np.int8, np.uint8):
        return given.view(wanted)
    return None


def _check_range(p: Memory, codes: Array) -> None:
    if not (p.dtype.is_low_bit and p.dtype.is_integer):
        return
    low, high = p.dtype.integer_range
    for code in (int(codes.min()), int(codes.max())):
        if not low <= code <= high:
            raise error(
                "DSL0756",
                f"argument {p.name} holds {code}, which is no value of {p.dtype} ({low} to {high})",
                p.loc,
            )


def as_scalar(p: Var, given: Argument) -> Any:
    """The argument as a scalar of the parameter's dtype; DSL0758 where it does not fit."""
    number: Any = given
    if isinstance(given, np.ndarray | np.generic) and given.size == 1:
        number = given.item()
    if not _fits(number, p.dtype):
        shown = "an array" if isinstance(number, np.ndarray) else repr(number)
        raise error("DSL0758", f"argument {p.name} is {shown}, expected a number of {p.dtype}")
    return constant(number, p.dtype)


def _fits(number: object, dtype: DType) -> bool:
    if dtype.kind is Kind.BOOL or isinstance(number, bool):
        return dtype.kind is Kind.BOOL and isinstance(number, bool)
    if not dtype.is_integer:
        return isinstance(number, int | float)
    low, high = dtype.integer_range
    return isinstance(number, int) and low <= number <= high


def shapes_of(
    params: Sequence[Param], arrays: Mapping[str, Array], scalars: Scalars
) -> dict[str, Sequence[int] | None]:
    """The shapes that bind dims: None for the flat bytes of a `packed row` parameter.

    Where nothing else gives the dim of a parameter with one axis, its bytes are taken as codes.
    """
    tensors = [p for p in params if isinstance(p, Memory)]
    maybe_packed = {p.name for p in tensors if _may_be_packed(p, arrays[p.name])}
    elsewhere = {
        e.name for p in tensors if p.name not in maybe_packed for e in p.shape if isinstance(e, Var)
    } | {v.name for v in scalars}
    shapes: dict[str, Sequence[int] | None] = {}
    for p in tensors:
        needs = {v.name for e in p.shape for v in free_vars(e)}
        packed = p.name in maybe_packed and (p.rank != 1 or needs <= elsewhere)
        shapes[p.name] = None if packed else arrays[p.name].shape
    return shapes


def bind(
    params: Sequence[Param],
    dims: Sequence[Var],
    shapes: Mapping[str, Sequence[int] | None],
    arrays: Mapping[str, Array],
    scalars: Scalars,
) -> Scalars:
    """The values of dims and scalar parameters, by variable."""
    strides = {n: [s // a.itemsize for s in a.strides] for n, a in arrays.items()}
    whole = {v.name: x for v, x in scalars.items() if v.dtype.is_integer}
    bound = bind_dims(params, shapes, strides, whole)
    for dim in dims:
        if dim.name not in bound:
            raise error("DSL0754", f"no argument gives the dim {dim.name}")
    return {**scalars, **{d: bound[d.name] for d in dims}}


def _may_be_packed(p: Memory, array: Array) -> bool:
    return p.packed == "row" and array.dtype == np.uint8 and array.ndim == 1


def unpacked(p: Memory, array: Array, shape: tuple[int, ...]) -> Array | None:
    """The codes of the flat bytes of a `packed row` parameter; None where the array holds codes.

    DSL0752 where the number of bytes is not what the shape says.
    """
    if not _may_be_packed(p, array):
        return None
    count = int(np.prod(shape, dtype=np.int64))
    size = packed_bytes(count, p.dtype.bits)
    if array.size == size:
        return unpack_codes(array, p.dtype, shape)
    if array.shape == shape and storage_dtype(p.dtype) == np.uint8:
        return None
    raise error(
        "DSL0752",
        f"argument {p.name} has {array.size} packed bytes, expected {size}: "
        f"{count} elements of {p.dtype.bits} bits, {shape_text(p.shape)}",
        p.loc,
    )


def check_requirements(
    requires: Sequence[Requirement], names: Mapping[str, int], title: str
) -> None:
    """DSL0759 for a `require` that does not hold."""
    for r in requires:
        if not evaluate(r.condition, names):
            used = sorted({v.name for v in free_vars(r.condition)})
            values = ", ".join(f"{n} = {names[n]}" for n in used)
            raise error(
                "DSL0759",
                f"{title} requires {r.text}" + (f", but {values}" if values else ""),
                r.loc,
            )
