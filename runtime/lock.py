"""One process (and thread) at a time, by a lock file."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of that name; its file goes away with the last who wants it.

    A lock of a dead process is free. A file system without locks gives none, and the block runs all
    the same: what it protects is saved work, never correctness.
    """
    held = _acquire(path)
    try:
        yield
    finally:
        if held is not None:
            with contextlib.suppress(OSError):
                path.unlink()
            # A process that was forked meanwhile has the file open too: closing alone keeps the lock.
            fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)


def _acquire(path: Path) -> int | None:
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            # The holder before us removed the file that we waited on: start again with the new one.
            if os.fstat(fd).st_ino == os.stat(path).st_ino:
                return fd
        except FileNotFoundError:
            pass
        except OSError:
            os.close(fd)
            return None
        os.close(fd)
