"""Compilers and assemblers that may be installed: which there are, their versions, how they are run."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from dslc.compiler.diagnostics import error

Command: TypeAlias = tuple[str, ...]
Tool = TypeVar("Tool")

_LONGEST = 600.0  # seconds


def installed(variable: str, ways: Mapping[str, Callable[[], Tool | None]]) -> Iterator[Tool]:
    """What the ways find by their names, in order; an environment variable limits them to one."""
    wanted = os.environ.get(variable)
    for name, find in ways.items():
        if wanted in (None, "", name) and (tool := find()) is not None:
            yield tool


def run(command: Command, folder: str) -> subprocess.CompletedProcess[str]:
    """Run one command in a folder, which also takes what the tool would keep elsewhere."""
    caches = {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
    return ended(command, folder, {**os.environ, **caches, "LC_ALL": "C"})


def ended(
    command: Sequence[str], folder: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; DSL0957 where that takes more than `_LONGEST` seconds."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LONGEST,
        )
    except subprocess.TimeoutExpired:
        name = Path(command[0]).name
        raise error(
            "DSL0957",
            f"{name} was stopped after {_LONGEST:.0f} seconds",
            hint="where the machine has much else to do, again may be enough; else use smaller tiles, "
            "or fewer iterations that are written out",
        ) from None


@functools.cache
def version(command: Command) -> str:
    """The first line that a command says, which asks a tool for its version."""
    said = run(command, os.curdir).stdout.strip().splitlines()
    return said[0] if said else "of unknown version"
