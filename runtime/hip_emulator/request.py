"""What the machine's library takes, in ctypes: machine.h and launch.h."""

from __future__ import annotations

import ctypes

_REPORT = 1024
_KINDS = ("RUN", "BRANCH", "ACCESS", "WAIT", "BARRIER", "SLEEP", "END", "TRAP", "NOTHING")
_SPACES = ("GLOBAL", "BUFFER", "FLAT", "SCRATCH", "LDS", "SCALAR")
_ACTIONS = ("LOAD", "STORE", "ATOMIC", "TO_LDS", "PERMUTE")
_EXTENDS = (
    "ZERO",
    "SIGN",
    "LOW_HALF",
    "HIGH_HALF",
    "LOW_HALF_SIGN",
    "HIGH_HALF_SIGN",
    "TRANSPOSE",
)
ENUMERATIONS = {
    **{name: n for names in (_KINDS, _SPACES, _ACTIONS, _EXTENDS) for n, name in enumerate(names)},
    "ALL": 1,
    "STRICT": 2,
}
MOST_REGISTERS, MOST_LITERALS, MOST_READS, MOST_WRITES = 8, 4, 8, 4


class Span(ctypes.Structure):
    """Consecutive registers."""

    _fields_ = (("vector", ctypes.c_uint8), ("count", ctypes.c_uint8), ("at", ctypes.c_uint16))


class Access(ctypes.Structure):
    """A memory instruction's rules."""

    _fields_ = (
        *((name, ctypes.c_uint8) for name in ("space", "action", "extend", "bytes", "count")),
        *((name, ctypes.c_uint8) for name in ("returns", "offen", "idxen", "coherent")),
        ("offset", ctypes.c_int32),
        ("offset1", ctypes.c_int32),
        ("combine", ctypes.c_void_p),
        ("permute", ctypes.c_void_p),
    )


class Ins(ctypes.Structure):
    """An instruction."""

    _fields_ = (
        ("run", ctypes.c_void_p),
        ("access", ctypes.POINTER(Access)),
        ("k", ctypes.c_uint64 * MOST_LITERALS),
        ("r", ctypes.c_uint16 * MOST_REGISTERS),
        ("reads", Span * MOST_READS),
        ("writes", Span * MOST_WRITES),
        ("kind", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("vm", ctypes.c_uint16),
        ("lgkm", ctypes.c_uint16),
        ("target", ctypes.c_uint32),
        ("line", ctypes.c_uint32),
        ("text", ctypes.c_char_p),
        ("source", ctypes.c_char_p),
    )


class Program(ctypes.Structure):
    """A kernel's code."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.POINTER(Ins)),
        ("length", ctypes.c_uint32),
    )


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
