"""The page by which the host and its guest talk: words at the offsets that guest.s names.

A request is a number that counts up; the guest copies it to the reply when it is done. Either waits for
the other's word by a short look and then by a futex, which costs a change of context and no more.
"""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable

PAGE = 4096
ADDRESS = 0x10_0000_0000  # where the guest maps it
CALL_ARGUMENTS = 6

_SYS_FUTEX = 202 if platform.machine() == "x86_64" else 98
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1
_LOOKS = 200
_NAP = 50_000_000  # ns: how long a wait lasts before the guest is looked after


class Page(ctypes.Structure):
    """The words, in the order and at the offsets of guest.s."""

    _fields_ = (
        ("request", ctypes.c_uint32),
        ("reply", ctypes.c_uint32),
        ("parent", ctypes.c_uint64),
        ("function", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * CALL_ARGUMENTS),
        ("result", ctypes.c_int64),
        ("signal", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("pc", ctypes.c_uint64),
        ("clobbered", ctypes.c_uint64),
        ("capabilities", ctypes.c_uint64 * 2),
    )


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


_libc = ctypes.CDLL(None, use_errno=True)
_patience = _Timespec(0, _NAP)


def exchange(page: Page, alive: Callable[[], bool], timeout: float) -> bool:
    """Send the request that the page holds and wait for the reply.

    False where the guest is not alive any more; TimeoutError after so many seconds.
    """
    page.request = number = (page.request + 1) & 0xFFFFFFFF
    _futex(page, Page.request.offset, _FUTEX_WAKE, 1)
    for _ in range(_LOOKS):
        if page.reply == number:
            return True
    end = time.monotonic() + timeout
    while (seen := page.reply) != number:
        _futex(page, Page.reply.offset, _FUTEX_WAIT, seen)
        if page.reply == number:
            break
        if not alive():
            return False
        if time.monotonic() > end:
            raise TimeoutError
    return True


def _futex(page: Page, offset: int, operation: int, value: int) -> None:
    address = ctypes.c_void_p(ctypes.addressof(page) + offset)
    _libc.syscall(_SYS_FUTEX, address, operation, value, ctypes.byref(_patience), None, 0)
