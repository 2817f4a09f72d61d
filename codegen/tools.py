"""Compilers and assemblers that may be installed: which there are, their versions, how they are run."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeVar

Command: TypeAlias = tuple[str, ...]
Tool = TypeVar("Tool")

_LONGEST = 300.0  # seconds


def installed(variable: str, ways: Mapping[str, Callable[[], Tool | None]]) -> Iterator[Tool]:
    """What the ways find by their names, in order; an environment variable limits them to one."""
    wanted = os.environ.get(variable)
    for name, find in ways.items():
        if wanted in (None, "", name) and (found := find()) is not None:
            yield found


def run(command: Command, folder: str) -> subprocess.CompletedProcess[str]:
    """Run one command in a folder, which also takes what the tool would keep elsewhere."""
    caches = {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **caches, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_LONGEST,
    )


@functools.cache
def version(command: Command) -> str:
    """The first line that a command says, which asks a tool for its version."""
    said = run(command, os.curdir).stdout.strip().splitlines()
    return said[0] if said else "of unknown version"
