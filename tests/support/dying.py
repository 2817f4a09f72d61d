"""What workers are given to die of; a module that their processes can import."""

from __future__ import annotations

import os
import time


def die_once(mark: str) -> str:
    """End the process that comes first; the next finds the mark of it."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "alive"
    os._exit(9)


def die(task: object) -> None:
    """End the process, whatever the task."""
    os._exit(9)


class Odd(Exception):
    """What pickle makes of it lacks an argument."""

    def __init__(self, number: int, total: int) -> None:
        super().__init__(f"{number} of {total}")


def raise_odd(number: int, total: int) -> None:
    raise Odd(number, total)


def pid_after(seconds: float) -> int:
    """The process's number, some time later."""
    time.sleep(seconds)
    return os.getpid()
