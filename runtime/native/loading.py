"""Libraries of bytes loaded into this process: what was checked is what is loaded.

On Linux a library is a file in memory, which no other process sees (memfd_create(2)); elsewhere the
loader wants a file, which lies in a folder of this user alone and is gone when it is loaded.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from dslc.compiler.diagnostics import error

LIBRARY = "kernel.so"
LIBRARY_MACOS = "kernel.dylib"

# What ELF (e_machine) and Mach-O (cputype) call the machines of code.
_ELF, _ELF_MACHINES = b"\x7fELF\x02\x01\x01", {62: "x86_64", 183: "aarch64"}
_MACHO, _MACHO_MACHINES = bytes.fromhex("cffaedfe"), {0x1000007: "x86_64", 0x100000C: "aarch64"}
_numbers = itertools.count(1)


def system_library() -> str:
    """The file of an artifact that this system loads; DSL0862 where there is none."""
    if sys.platform == "darwin":
        return LIBRARY_MACOS
    if sys.platform.startswith("linux"):
        return LIBRARY
    raise error(
        "DSL0862",
        f"kernels are libraries for Linux and macOS, which {sys.platform} does not load",
        hint="--target interp runs every kernel; under WSL they run as on Linux",
    )


def machine_of(library: bytes) -> str | None:
    """The machine that a library's code is for, by the system's name; None for what is no library."""
    if library.startswith(_ELF):
        return _ELF_MACHINES.get(int.from_bytes(library[18:20], "little"))
    if library.startswith(_MACHO):
        return _MACHO_MACHINES.get(int.from_bytes(library[4:8], "little"))
    return None


def load_library(content: bytes) -> ctypes.CDLL:
    """The library of these bytes; OSError where the loader refuses it, DSL0862 on other systems."""
    name = system_library()
    if hasattr(os, "memfd_create"):
        with suppress(OSError):  # a system may forbid to run memory, or have no memory left
            return _from_memory(content)
    with tempfile.TemporaryDirectory(prefix=f"dslc-load-{os.getpid()}-") as folder:
        file = Path(folder, name)
        file.write_bytes(content)
        return ctypes.CDLL(str(file))


def _from_memory(content: bytes) -> ctypes.CDLL:
    with open(os.memfd_create("dslc-kernel"), "wb") as file:
        file.write(content)
        file.flush()
        return ctypes.CDLL(_unused_path(file.fileno()))


def _unused_path(descriptor: int) -> str:
    """A path of a descriptor that no library was loaded by.

    The loader takes a library for the one that it has by the same path, and numbers of descriptors
    come again. So the path bears a number in its slashes, `/` and `/./`, which mean the same.
    """
    bits = f"{next(_numbers):b}".replace("0", "/").replace("1", "./")
    return f"/proc/self/fd/{bits}{descriptor}"
