"""The lock by a file: one at a time, whoever was forked or has waited."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from dslc.runtime.lock import locked


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux what is open")
def test_who_waited_for_a_lock_holds_the_file_that_others_find(tmp_path: Path) -> None:
    """The holder removes its file: a lock on that one would keep nobody out."""
    path, entered, leave = tmp_path / "lock", threading.Event(), threading.Event()

    def wait() -> None:
        with locked(path):
            entered.set()
            leave.wait(30)

    waiting = threading.Thread(target=wait)
    with locked(path):
        waiting.start()
        deadline = time.monotonic() + 30
        while len(_open_files(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.001)  # until it has opened the file, which then goes away
    assert entered.wait(30)
    held = path.exists()
    leave.set()
    waiting.join()
    assert held


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux what is open")
def test_a_lock_is_given_up_though_a_forked_process_has_it_open(tmp_path: Path) -> None:
    """A waiter waits for the holder, not for what the holder forked meanwhile."""
    got = threading.Event()

    def wait() -> None:
        with locked(tmp_path / "lock"):
            got.set()

    waiter = threading.Thread(target=wait, daemon=True)
    with locked(tmp_path / "lock"):
        waiter.start()
        time.sleep(0.1)  # until it waits for this very file
        child = subprocess.Popen(["sleep", "30"], pass_fds=_open_files(tmp_path))
    try:
        assert got.wait(5)
    finally:
        child.kill()
        child.wait()


def _open_files(folder: Path) -> list[int]:
    """The descriptors of this process that are files of a folder."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith(str(folder)):
                found.append(int(name))
        except OSError:
            continue
    return found
