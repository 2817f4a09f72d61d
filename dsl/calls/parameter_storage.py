"""Parameters of 8 bits and fewer: from codes to the storage that a kernel loads, and back.

Codes are one element a byte: integers as their value, floats as their bit pattern. The artifact says
how each parameter is stored: as packed bytes, or as the codes themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np
from dslc.calls.arguments import Argument, Array, is_tensor
from dslc.calls.signature import Parameter
from dslc.compiler.artifact import Param
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import storage_dtype
from dslc.runtime import packing
from dslc.runtime.buffers import as_array, import_array
from dslc.runtime.expression import compile_expression


def pack(parameter: Parameter, stored: Param, codes: object) -> Array:
    """Codes as the parameter is stored. DSL0746, and DSL078x for codes that do not fit."""
    _check_width(parameter)
    array = as_array(codes, parameter.dtype.name, param=parameter.name)
    if array.ndim != parameter.rank:
        text = f"codes of shape {array.shape} do not fit {parameter}"
        raise error("DSL0746", text, hint="what is packed already is passed as it is")
    if stored.packed is None:
        return np.ascontiguousarray(array)
    return packing.pack(array, stored.packed)


def as_stored(
    parameter: Parameter,
    stored: Param,
    array: Array,
    sizes: Callable[[], Mapping[str, int]],
    dims: Collection[str] = (),
    *,
    rows: bool = False,
) -> Array:
    """A call's argument as the kernel takes it: codes are packed where it wants bytes in tiles.

    The interpreter takes both forms of a `packed row` parameter; other machines take bytes, and `rows`
    packs codes for them. A plain array of one axis that has the codes' shape is codes, unless the
    source itself says `packed row`: seven codes of 7 bits take seven bytes as well.
    The shape of codes in tiles is checked here against the dims that `sizes` gives: the tiles hide it.
    DSL0768 for bytes that know that they are stored in another way; it names the sizes of `dims`.
    """

    def named() -> dict[str, int]:
        return {dim: size for dim, size in sizes().items() if dim in dims}

    packing.check_storage(parameter.name, array, stored.packed, named)
    scheme = None if stored.packed is None else stored.packed["scheme"]
    may_be_bytes = scheme is not None and array.dtype == np.uint8
    if scheme == "row" and may_be_bytes and _are_codes(parameter, stored, array, sizes):
        return pack(parameter, stored, array)
    if may_be_bytes and (array.ndim != parameter.rank or (scheme == "row" and array.ndim == 1)):
        if scheme == "tiles" and array.ndim != parameter.rank + 1:
            raise _wrong_shape(parameter, array, str(parameter), "DSL0751")
        if not (rows and array.ndim == parameter.rank and _tell_codes(stored, array, sizes())):
            return array
    name, written = parameter.name, parameter.is_written
    codes = as_array(array, parameter.dtype.name, param=name, writable=written)
    if scheme == "tiles" or (rows and scheme == "row"):
        _check_extents(parameter, stored, array, sizes())
        return pack(parameter, stored, _some_codes(parameter, codes))
    return codes


def opened(parameter: Parameter, stored: Param, array: Array, sizes: Mapping[str, int]) -> Array:
    """The codes in bytes of a `packed row` parameter, for a machine that takes codes."""
    extents = _extents(stored, sizes)
    may_be_codes = array.ndim > 1 or parameter.packed is None
    if array.dtype != np.uint8 or (may_be_codes and array.size == int(np.prod(extents))):
        return array
    if stored.packed is None or _tell_codes(stored, array, sizes):
        return array
    return packing.unpack(array, stored.packed, extents)


def give_back(parameter: Parameter, stored: Param, packed: Array, codes: Array) -> None:
    """What a kernel wrote to bytes that were made of a call's codes, to the codes."""
    if packed is codes or stored.packed is None:
        return  # the caller's own bytes
    codes_now = packing.unpack(packed, stored.packed, codes.shape)
    codes[...] = (
        codes_now.view(codes.dtype) if parameter.dtype.is_float else codes_now.astype(codes.dtype)
    )


def _are_codes(
    parameter: Parameter, stored: Param, array: Array, sizes: Callable[[], Mapping[str, int]]
) -> bool:
    """Whether an array of one axis is codes though its bytes would be an array of one axis too."""
    if array.ndim != 1 or parameter.rank != 1 or parameter.is_written:
        return False
    if parameter.packed is not None or isinstance(array, packing.Packed):
        return False
    try:
        return list(array.shape) == _extents(stored, sizes())
    except KeyError:  # nothing else gives the dim
        return False


def refuse_packed(parameters: Iterable[Parameter], ready: Mapping[str, Argument]) -> None:
    """DSL0751 where bytes in tiles come for a parameter that the kernel reads as an array."""
    for parameter in parameters:
        array = ready[parameter.name]
        if is_tensor(array) and array.ndim != parameter.rank:
            text = f"argument {parameter.name} has shape {tuple(array.shape)}: {array.ndim} axes, "
            text += f"expected {parameter.rank}: {parameter}"
            raise error("DSL0751", text, hint="this kernel reads it as it is, unpacked")


def unpack(parameter: Parameter, stored: Param, packed: object, dims: Mapping[str, int]) -> Array:
    """The codes of a stored parameter, whose shape follows from the dims."""
    _check_width(parameter)
    data = import_array(packed, param=parameter.name)
    if stored.packed is None:
        return data.view(storage_dtype(parameter.dtype))
    try:
        shape = _extents(stored, dims)
    except KeyError as missing:
        hint = f"state the dims: unpack({parameter.name!r}, packed, {missing.args[0]}=...)"
        text = f"the shape of {parameter} needs the dim {missing.args[0]}"
        raise error("DSL0754", text, hint=hint) from None
    return packing.unpack(data, stored.packed, shape)


def _tell_codes(stored: Param, array: Array, dims: Mapping[str, int]) -> bool:
    """Whether bytes of one axis are codes: as many as elements, and not as many as their bytes."""
    if stored.packed is None or isinstance(array, packing.Packed):
        return False
    try:
        extents = _extents(stored, dims)
    except KeyError:
        return False
    return list(array.shape) == extents and array.shape != packing.packed_shape(
        stored.packed, extents
    )


def _some_codes(parameter: Parameter, array: Array) -> Array:
    """The codes of an argument; of one that is only written any bytes are some."""
    if parameter.mode != "out" or not parameter.dtype.is_integer or array.dtype.itemsize != 1:
        return array
    spare = np.uint8(8 - parameter.dtype.bits)
    bits = np.ascontiguousarray(array).view(np.uint8) << spare
    return bits.view(np.int8) >> spare.view(np.int8) if parameter.dtype.is_signed else bits >> spare


def _check_extents(
    parameter: Parameter, stored: Param, codes: Array, dims: Mapping[str, int]
) -> None:
    """DSL0752 where codes have not the extents that the other arguments give."""
    try:
        expected = _extents(stored, dims)
    except KeyError:
        return  # nothing else gives the dim: the kernel says so
    if list(codes.shape) != expected:
        shape = "[" + ", ".join(parameter.dims or ()) + "]"
        raise _wrong_shape(parameter, codes, f"{shape} = {expected}", "DSL0752")


def _extents(stored: Param, dims: Mapping[str, int]) -> list[int]:
    """The shape of a stored parameter's codes; KeyError names a dim that is not given."""
    return [int(compile_expression(text)(dims)) for text in stored.dims or ()]


def _wrong_shape(parameter: Parameter, array: Array, expected: str, code: str) -> DiagnosticError:
    text = f"argument {parameter.name} has shape {array.shape}, expected {expected}"
    return error(code, text, hint="pass codes, one a byte, or what pack gives")


def _check_width(parameter: Parameter) -> None:
    if parameter.dims is None or parameter.dtype.bits > 8:
        hint = "tensors of dtypes of at most 8 bits have one"
        raise error("DSL0746", f"{parameter} has no packed storage", hint=hint)
