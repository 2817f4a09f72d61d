"""DLPack's C exchange interface (dlpack.h 1.3) for NumPy arrays that stand for a GPU's tensors."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

CUDA = 2


class View(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device", c_int32), ("rank", c_int32),
        ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
        ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64),
    ]  # fmt: skip


_Read = ctypes.CFUNCTYPE(c_int, ctypes.py_object, POINTER(View))
_Stream = ctypes.CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class _Interface(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocate", c_void_p),
        ("take", c_void_p), ("give", c_void_p), ("view", _Read), ("stream", _Stream),
    ]  # fmt: skip


_KEPT: list[object] = []
_VIEWS: dict[int, Any] = {}  # shapes and strides have to outlive the call, as a tensor's do


@_Read
def _view(tensor: Any, into: Any) -> int:
    """What `tensor.array` is, on `tensor.device`, of the kind `tensor.code`; -1 without an array."""
    array = tensor.array
    if array is None:
        return -1
    numbers = (c_int64 * (2 * array.ndim))(
        *array.shape, *(s // array.itemsize for s in array.strides)
    )
    _VIEWS[id(tensor)] = numbers
    out = into.contents
    out.data, out.byte_offset = array.ctypes.data - 16, 16
    out.device_type, out.device, out.rank = CUDA, tensor.device, array.ndim
    out.code, out.bits, out.lanes = tensor.code, 8 * array.itemsize, 1
    at = ctypes.addressof(numbers)
    out.shape = ctypes.cast(at, POINTER(c_int64))
    out.strides = ctypes.cast(at + 8 * array.ndim, POINTER(c_int64))
    return 0


def capsule(*, stream: int, major: int = 1) -> object:
    """A library's interface, whose current stream is always `stream`."""

    @_Stream
    def current(device_type: int, device: int, into: Any) -> int:
        into[0] = stream
        return 0 if device_type == CUDA else -1

    made = _Interface(major, 3, None, None, None, None, _view, current)
    name = ctypes.c_char_p(b"dlpack_exchange_api")
    _KEPT.extend([made, current, name])
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
    return new(ctypes.addressof(made), name, None)
