"""A call's arguments as the machine takes them: arrays in the storage convention, typed scalars.

Nothing is copied: an array of another library is seen through DLPack, and what the kernel writes lands
in the caller's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
from dslc.calls.signature import Parameter, plain_number
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind
from dslc.runtime.binding import dense_strides
from dslc.runtime.buffers import as_array, import_array
from dslc.runtime.extents import dim_of
from dslc.runtime.memory.buffer import Buffer
from dslc.runtime.overlaps import refuse_overlaps, share_elements

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Argument: TypeAlias = "Array | DeviceTensor | int | float | bool"


class DeviceTensor(Protocol):
    """A tensor in the memory of a device, of which the face knows the form alone."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def dtype(self) -> object:
        """Its element type: `str` gives the name."""


Find: TypeAlias = "Callable[[Parameter, object], DeviceTensor | None]"
"""What reads the tensors of a device; None for an argument that is none."""


def is_tensor(argument: Argument | None) -> TypeGuard[Array | DeviceTensor]:
    """Whether an argument is a tensor, on whatever device."""
    return hasattr(argument, "shape")


def prepare(
    parameters: Sequence[Parameter],
    arguments: Mapping[str, object],
    find: Find = lambda parameter, value: None,
) -> dict[str, Argument]:
    """Every argument as a tensor or a number, by parameter in order; `find` knows those of a device.

    DSL0758 for a scalar that does not fit, DSL0742 for an output that shares memory with another
    argument, DSL0751 for a tensor of another rank, and the errors of `tensor`.
    """
    ready: dict[str, Argument] = {}
    for parameter in parameters:
        value = arguments[parameter.name]
        if parameter.dims is None:
            ready[parameter.name] = scalar(parameter, value)
        else:
            array = find(parameter, value)
            ready[parameter.name] = tensor(parameter, value) if array is None else array
            _check_rank(parameter, ready[parameter.name])
    arrays = {name: a for name, a in ready.items() if isinstance(a, np.ndarray)}
    refuse_overlaps({p.name: p.mode for p in parameters}, arrays, share_elements)
    return ready


def tensor(parameter: Parameter, value: object) -> Array:
    """The argument of a tensor parameter as an array in its storage dtype, without a copy.

    That of a low-bit parameter is codes or bytes, and stays as it is: its specialisation knows the
    storage. So do the packed bytes of 8-bit weights, which have an axis more than these. DSL076x for
    what is no array of the dtype, on a device, or read-only though it is written.
    """
    name, written = parameter.name, parameter.is_written
    if parameter.may_be_packed:
        array = import_array(value, param=name, writable=written)
        if parameter.dtype.is_low_bit or is_packed(parameter, array):
            return array
    return as_array(value, parameter.dtype.name, param=name, writable=written)


def is_packed(parameter: Parameter, array: Argument) -> bool:
    """Whether an array is bytes in tiles."""
    if not (is_tensor(array) and parameter.may_be_packed and str(array.dtype) == "uint8"):
        return False
    return parameter.dtype.is_low_bit or array.ndim == parameter.rank + 1


def plain_on_device(
    parameters: Sequence[Parameter], ready: Mapping[str, Argument]
) -> frozenset[str]:
    """The 8-bit parameters whose elements lie on a device one after another, as any library has them.

    They cannot be packed at the call: the kernel is to read them as they are.
    """
    return frozenset(
        p.name
        for p in parameters
        if p.is_bytes
        and is_tensor(array := ready[p.name])
        and not isinstance(array, np.ndarray)
        and array.ndim == p.rank
    )


def _check_rank(parameter: Parameter, array: Argument) -> None:
    assert is_tensor(array)
    if array.ndim == parameter.rank or is_packed(parameter, array):
        return
    raise error(
        "DSL0751",
        f"argument {parameter.name} has shape {array.shape}: {array.ndim} axes, "
        f"expected {parameter.rank}: {parameter}",
    )


def scalar(parameter: Parameter, value: object) -> int | float | bool:
    """The argument of a scalar parameter as a Python number of its dtype's range."""
    dtype = parameter.dtype
    number = plain_number(value)
    if dtype.kind is Kind.BOOL:
        if isinstance(number, bool):
            return number
    elif dtype.is_integer:
        if isinstance(number, int) and not isinstance(number, bool):
            return _in_range(parameter, number)
    elif isinstance(number, int | float) and not isinstance(number, bool):
        return float(number)
    raise error(
        "DSL0758",
        f"argument {parameter.name} is of type {_type_name(value)}, expected a number of {dtype}",
        hint=_scalar_hint(dtype),
    )


def _in_range(parameter: Parameter, number: int) -> int:
    low, high = parameter.dtype.integer_range
    if low <= number <= high:
        return number
    raise error(
        "DSL0758",
        f"argument {parameter.name} = {number} is outside {parameter.dtype}: {low} to {high}",
    )


def _scalar_hint(dtype: DType) -> str:
    if dtype.kind is Kind.BOOL:
        return "pass True or False"
    return "pass an int" if dtype.is_integer else "pass a float or an int"


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def dim_size(
    parameters: Sequence[Parameter], ready: Mapping[str, Argument], dim: str
) -> int | None:
    """The value of a dim by the first argument that has it as an axis or a stride of its own, or None.

    The bytes of a packed parameter say nothing of dims. A low-bit parameter of one axis that is read
    comes last, since its bytes and its codes look alike.
    """
    last = None
    for parameter in parameters:
        array = ready.get(parameter.name)
        if not is_tensor(array):
            continue
        if dim in (parameter.strides or ()) and (steps := _strides(array)) is not None:
            return steps[(parameter.strides or ()).index(dim)]
        if dim not in (parameter.dims or ()):
            continue
        assert parameter.dims is not None
        if array.ndim == parameter.rank:
            size = int(array.shape[parameter.dims.index(dim)])
            if not _may_be_bytes(parameter):
                return size
            last = size if last is None else last
    return last


def _may_be_bytes(parameter: Parameter) -> bool:
    """Whether an array of as many axes as a parameter may hold packed bytes, which tell no extent."""
    if not parameter.dtype.is_low_bit or parameter.rank != 1:
        return False
    return not (parameter.is_written and parameter.packed is None)


def _strides(array: Argument) -> tuple[int, ...] | None:
    """The strides of an array in elements, None where only its machine knows them."""
    if isinstance(array, np.ndarray):
        return tuple(s // array.itemsize for s in array.strides)
    return dense_strides(array.shape) if isinstance(array, Buffer) else None


def told_dim(parameter: Parameter, array: Array, dim: str) -> int | None:
    """The value of a dim by the shape of one parameter's codes, of which its extents are made."""
    if array.ndim != parameter.rank:
        return None
    extents = zip(parameter.dims or (), array.shape, strict=True)
    told = (dim_of(extent, dim, size) for extent, size in extents)
    return next((n for n in told if n is not None), None)


def known_dims(parameters: Sequence[Parameter], ready: Mapping[str, Argument]) -> dict[str, int]:
    """The integers that extents are made of, dims and scalars: codes are asked last, then bytes."""
    known: dict[str, int] = {}
    for parameter in sorted(parameters, key=lambda p: (p.dtype.is_low_bit, _may_be_bytes(p))):
        value = ready[parameter.name]
        if isinstance(value, np.ndarray):
            if value.ndim == parameter.rank:
                for dim, size in zip(parameter.dims or (), value.shape, strict=True):
                    known.setdefault(dim, int(size))
        elif isinstance(value, int):
            known.setdefault(parameter.name, value)
    return known


def element_bytes(parameter: Parameter) -> int:
    """The bytes of an element as an argument holds it; of low-bit codes, packed or not, 1."""
    return max(1, parameter.dtype.bits // 8)
