"""Temporary folders for compilers and loaders, and the sweep of those that killed processes left.

    with scratch_folder("hip") as folder:      # /tmp/dslc-hip-4711-k3v0x2ab
        ...

A folder's name tells the process that made it, so that a later one may delete what a dead one left; the
runtime, which does without the compiler, names its folders in the same way.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"dslc-[a-z0-9]+-(\d+)-[a-z0-9_]{8}\Z")
_STALE_SECONDS = (
    3600.0  # a process in another container may look dead and live; no build takes so long
)


@contextlib.contextmanager
def scratch_folder(purpose: str) -> Iterator[str]:
    """A new folder of the user's alone, gone at the end; `purpose` is a word of its name."""
    root = Path(tempfile.gettempdir())
    _sweep_once(root)
    with tempfile.TemporaryDirectory(prefix=f"dslc-{purpose}-{os.getpid()}-") as folder:
        yield folder


def sweep(root: Path) -> list[Path]:
    """Delete the user's scratch folders whose process is gone, an hour after their last change."""
    removed = []
    with contextlib.suppress(OSError):
        for path in root.iterdir():
            if (match := _NAME.match(path.name)) and _is_left(path, int(match[1])):
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
    return removed


@functools.cache
def _sweep_once(root: Path) -> None:
    sweep(root)


def _is_left(path: Path, process: int) -> bool:
    try:
        status = path.lstat()
    except OSError:  # gone meanwhile
        return False
    old = time.time() - status.st_mtime > _STALE_SECONDS
    own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return own and old and not _is_alive(process)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
