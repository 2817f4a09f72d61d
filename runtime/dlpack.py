"""Arrays from any library through DLPack, without a copy.

NumPy's own import knows neither bfloat16 nor the 8-bit floats and gives read-only arrays for the
protocol's older version, so the capsule is read here (https://dmlc.github.io/dlpack, `dlpack.h` 1.0).
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array, extension_dtype

_HOST = frozenset({1, 3, 11, 13})  # CPU, and the pinned and managed kinds that a host may read
_DEVICES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 14: "oneapi", 15: "webgpu"}
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}
_EXTENSION = {
    (4, 16): "bf16",
    (7, 8): "f8e3m4",
    (10, 8): "f8e4m3",
    (12, 8): "f8e5m2",
    (14, 8): "e8m0",
}
_READ_ONLY = 1
_REFUSALS = (BufferError, RuntimeError, TypeError, ValueError)


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


# Called with the interpreter's lock held, as the destructor of a capsule is.
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


# Capsule names must outlive the capsules that bear them.
_PLAIN, _USED = b"dltensor", b"used_dltensor"
_PLAIN_VERSIONED, _USED_VERSIONED = b"dltensor_versioned", b"used_dltensor_versioned"

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.argtypes, _set_name.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int


class _Owner:
    """Holds a consumed tensor until the last array on its memory is gone."""

    def __init__(self, managed: _Managed | _Versioned, interface: dict[str, Any]) -> None:
        self.managed = managed
        self.__array_interface__ = interface

    def __del__(self) -> None:
        if self.managed.deleter:
            self.managed.deleter(ctypes.addressof(self.managed))


def device_name(obj: Any) -> str | None:
    """The device of an object with the protocol (`cuda:0`), or None where a host can read it.

    DSL0764 where the object refuses to say.
    """
    try:
        kind, number = obj.__dlpack_device__()
    except _REFUSALS as problem:
        raise _refused(obj, problem) from None
    if int(kind) in _HOST:
        return None
    return f"{_DEVICES.get(int(kind), f'device {int(kind)}')}:{int(number)}"


def from_dlpack(obj: Any) -> Array:
    """The array of an object with the protocol, on the object's own memory.

    Writable unless the object says otherwise. DSL0764 where the object refuses or its elements have
    no NumPy type.
    """
    try:
        capsule = _export(obj)
    except _REFUSALS as problem:
        raise _refused(obj, problem) from None
    return _consume(capsule)


def _refused(obj: Any, problem: Exception) -> Exception:
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    return error(
        "DSL0764",
        f"a {type(obj).__qualname__} cannot be read through DLPack: {lines[0]}",
        hint="a dense one can be: x.to_dense(), x.resolve_conj()",
    )


def _export(obj: Any, **options: int) -> Any:
    try:
        return obj.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # an older exporter
        return obj.__dlpack__(**options)


@dataclass(frozen=True, slots=True)
class DeviceTensor:
    """A tensor in a device's memory: strides are in elements, None where dense; `owner` keeps it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    device: int
    read_only: bool
    owner: object


def read_tensor(obj: Any, stream: int) -> DeviceTensor:
    """What an object on a device gives out, ready for work on a stream of that device.

    DSL0764 where the object refuses or its elements have no NumPy type.
    """
    try:
        capsule = _export(obj, stream=stream)
    except _REFUSALS as problem:
        raise _refused(obj, problem) from None
    managed, read_only, used = _open(capsule)
    tensor, shape = managed.tensor, _shape(managed.tensor)
    dtype = _dtype(tensor)
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    _set_name(capsule, used)
    owner = _Owner(managed, {})
    return DeviceTensor(address, shape, strides, dtype, tensor.device_id, read_only, owner)


def _open(capsule: Any) -> tuple[_Managed | _Versioned, bool, bytes]:
    """What a capsule holds, whether it may only be read, and the name of a used capsule."""
    if _is_valid(capsule, _PLAIN_VERSIONED):
        managed = _Versioned.from_address(_pointer(capsule, _PLAIN_VERSIONED))
        if managed.major != 1:
            raise error("DSL0764", f"DLPack {managed.major}.{managed.minor} is not known here")
        return managed, bool(managed.flags & _READ_ONLY), _USED_VERSIONED
    if _is_valid(capsule, _PLAIN):
        return _Managed.from_address(_pointer(capsule, _PLAIN)), False, _USED
    raise error("DSL0764", "this is no DLPack capsule, or it was read before")


def _shape(tensor: _Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()


def _consume(capsule: Any) -> Array:
    managed, read_only, used = _open(capsule)
    tensor, shape = managed.tensor, _shape(managed.tensor)
    dtype = _dtype(tensor)
    interface = _interface(tensor, dtype, shape, read_only)
    _set_name(capsule, used)  # from here on the tensor is ours to release
    owner = _Owner(managed, interface)
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    array = np.asarray(owner)
    return array if array.dtype == dtype else array.view(dtype)


def _interface(
    tensor: _Tensor, dtype: np.dtype[Any], shape: tuple[int, ...], read_only: bool
) -> dict[str, Any]:
    """NumPy's array interface, in bytes; types that NumPy lacks go as integers of their width."""
    plain = dtype if dtype.isbuiltin == 1 else np.dtype(f"u{dtype.itemsize}")
    strides = None
    if tensor.strides:
        strides = tuple(s * dtype.itemsize for s in tensor.strides[: tensor.ndim])
    return {
        "version": 3,
        "shape": shape,
        "typestr": plain.str,
        "strides": strides,
        "data": ((tensor.data or 0) + tensor.byte_offset, read_only),
    }


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    code, bits = tensor.code, tensor.bits
    if tensor.lanes == 1:
        if (code, bits) in _EXTENSION:
            return extension_dtype(_EXTENSION[code, bits])
        if code == 6 and bits == 8:
            return np.dtype(np.bool_)
        if code in _KINDS and bits in (8, 16, 32, 64, 128):
            try:
                return np.dtype(f"{_KINDS[code]}{bits // 8}")
            except TypeError:
                pass
    raise error("DSL0764", f"DLPack elements of code {code}, {bits} bits, {tensor.lanes} lanes")
