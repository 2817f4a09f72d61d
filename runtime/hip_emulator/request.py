"""A launch as the machine's library takes it: launch.h in ctypes."""

from __future__ import annotations

import ctypes

_REPORT = 1024


class Allocation(ctypes.Structure):
    """An array of the launch. `defined` has a byte for each of its bytes, or is NULL."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("bytes", ctypes.c_void_p),
        ("defined", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
        ("skew", ctypes.c_uint32),
        ("writable", ctypes.c_uint8),
    )


class Request(ctypes.Structure):
    """A launch; `executed` and `report` are the results."""

    _fields_ = (
        ("program", ctypes.c_void_p),
        ("allocations", ctypes.POINTER(Allocation)),
        ("allocation_count", ctypes.c_uint32),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("lds_bytes", ctypes.c_uint32),
        ("scratch_bytes", ctypes.c_uint32),
        ("resident", ctypes.c_uint32),
        ("user", ctypes.c_uint32 * 16),
        ("user_count", ctypes.c_uint32),
        ("group_ids", ctypes.c_uint8 * 3),
        ("lds_is_large", ctypes.c_uint8),
        ("granule_shift", ctypes.c_uint8),
        ("seed", ctypes.c_uint64),
        ("limit", ctypes.c_uint64),
        ("executed", ctypes.c_uint64),
        ("report", ctypes.c_char * _REPORT),
    )
