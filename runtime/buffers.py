"""Arguments in: arrays of any library as NumPy arrays of the storage that a parameter wants.

What comes out is the caller's own memory, never a copy that the kernel would write in vain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.dlpack import device_name, from_dlpack
from dslc.runtime.elements import Array, as_storage, storage_dtype
from dslc.runtime.packing import Packed

_IMMUTABLE = frozenset({"jax", "jaxlib"})  # arrays of these are values, whatever their flags say


def import_array(obj: Any, *, param: str, writable: bool = False) -> Array:
    """The NumPy array on the memory of an array-like object, its element type as it is.

    Takes NumPy arrays and whatever exports DLPack from memory that a host can read. A tensor of torch
    that tracks gradients is taken without them, as on a GPU: autograd sees no kernel. Errors name the
    parameter: DSL0760 no array, DSL0762 on a device, DSL0763 read-only though `writable`, DSL0764 not
    exported.
    """
    if isinstance(obj, np.ndarray):
        array = _plain(obj, param)
    elif hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        if device := device_name(obj):
            raise error(
                "DSL0762",
                f"argument {param} is on {device}, and this target runs on the host",
                hint="copy it to the host first (.cpu(), .get()), or compile for its device",
            )
        array = from_dlpack(obj.detach() if getattr(obj, "requires_grad", False) else obj)
        if array.flags.writeable and type(obj).__module__.split(".")[0] in _IMMUTABLE:
            array.flags.writeable = False
    else:
        raise _not_an_array(obj, param)
    if writable and not array.flags.writeable:
        raise error(
            "DSL0763",
            f"argument {param} is written by the kernel, but the array is read-only",
            hint="pass an array of your own, such as numpy.empty(shape, dtype)",
        )
    return array


def as_array(obj: Any, dtype: str, *, param: str, writable: bool = False) -> Array:
    """As `import_array`, and in the storage of the element type: DSL0761 where it is of another.

    An array of a float's ml_dtypes type comes as its bit patterns. Codes of integers below 8 bits may
    be int8 or uint8, or of an ml_dtypes type, which alone is copied. Strides are the caller's (see
    `element_strides`).
    """
    array = import_array(obj, param=param, writable=writable)
    stored = as_storage(array, dtype, writable=writable)
    if stored is None:
        wanted = storage_dtype(dtype).name
        raise error(
            "DSL0761",
            f"argument {param} is an array of {array.dtype.name}, expected {dtype} ({wanted})",
            hint=_conversion(array, dtype, wanted),
        )
    return stored


def element_strides(array: Array) -> tuple[int, ...] | None:
    """The strides in elements, or None where some stride is not a whole number of elements."""
    size = array.itemsize
    if any(s % size for s in array.strides):
        return None
    return tuple(s // size for s in array.strides)


def _plain(array: Array, param: str) -> Array:
    if type(array) in (np.ndarray, Packed):
        return array
    if isinstance(array, np.ma.MaskedArray):
        raise error(
            "DSL0760",
            f"argument {param} is a masked array, and a kernel knows no masks",
            hint="pass x.filled(value)",
        )
    return array.view(np.ndarray)


def _not_an_array(obj: Any, param: str) -> Exception:
    kind = type(obj).__qualname__
    if hasattr(obj, "__cuda_array_interface__"):
        hint = "copy it to the host first, or compile for its device"
    elif isinstance(obj, list | tuple | int | float | bool | np.generic):
        hint = f"pass numpy.asarray({param}, dtype=...): the kernel works on the array's own memory"
    else:
        hint = "pass a NumPy array, or a tensor with __dlpack__ (PyTorch, JAX, CuPy)"
    return error("DSL0760", f"argument {param} is a {kind}, expected an array", hint=hint)


def _conversion(array: Array, dtype: str, wanted: str) -> str:
    if array.dtype.newbyteorder() == storage_dtype(dtype):
        return "the bytes are in the other order: x.astype(x.dtype.newbyteorder('='))"
    if wanted == "uint8" and array.dtype.kind == "f":
        return f"{dtype} is passed as codes, one a byte: quantise it first"
    return f"convert it: x.astype({wanted!r})"
