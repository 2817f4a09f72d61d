"""Where CUDA's compilers and tools are: pip's wheels, a toolkit, or the system's path.

The wheels unpack into the name space package `nvidia` (`nvidia/cu13/lib`, `nvidia/cu13/bin`, or with
CUDA 12 one folder a component). A folder named in `DSLC_CUDA_HOME`, `CUDA_HOME` or `CUDA_PATH` counts
before them.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from dslc.compiler.diagnostics import DiagnosticError, error

_VARIABLES = ("DSLC_CUDA_HOME", "CUDA_HOME", "CUDA_PATH")
_SYSTEM = Path("/usr/local/cuda")
_LIBRARY_FOLDERS = ("lib", "lib64", "lib/x64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")


def find_library(name: str) -> str | None:
    """The newest `lib<name>.so*` of the first place that has one: a path, or a name for the linker."""
    pattern = re.compile(rf"lib{re.escape(name)}\.so(\.[0-9.]+)?\Z")
    for home in _homes():
        for folder in _LIBRARY_FOLDERS:
            files = [p for p in _files(home / folder) if pattern.match(p.name)]
            if files:
                return str(max(files, key=_version))
    return ctypes.util.find_library(name)


def find_tool(name: str) -> str | None:
    """The program of that name."""
    for home in _homes():
        path = home / "bin" / name
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return shutil.which(name)


def missing(what: str, package: str) -> DiagnosticError:
    """DSL0951: what is missing, and the command that gets it."""
    return error(
        "DSL0951",
        f"{what} was found neither among Python's packages nor in a CUDA toolkit",
        hint=f"pip install {package}, or set CUDA_HOME to a toolkit",
    )


def _homes() -> Iterator[Path]:
    for variable in _VARIABLES:
        if folder := os.environ.get(variable):
            yield Path(folder)
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        # cu13 before cu12's one folder a component
        yield from sorted((p for p in Path(root).glob("*") if p.is_dir()), reverse=True)
    yield _SYSTEM


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", path.name.partition(".so")[2]))
