"""Libraries by the host's C compiler: the machine, and functions of kernels; kept by their text."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from dslc.runtime.hip_emulator.errors import EmulationError
from dslc.runtime.hip_emulator.request import Access, Allocation, Ins, Request
from dslc.runtime.host_libraries import kept_folder, key_of, make, processor_features

_UNITS = (
    "schedule.c",
    "operands.c",
    "flights.c",
    "addresses.c",
    "memory.c",
    "atomics.c",
    "lds.c",
)
_HEADERS = (
    "machine.h",
    "launch.h",
    "lanes.h",
    "division.h",
    "crosslane.h",
    "matrix.h",
    "swizzle.h",
)
# Every operation rounds by itself. The machine is made once a host, kernels often.
_KERNEL_HEADERS = ("lanes.h", "division.h", "crosslane.h", "matrix.h", "swizzle.h")
_FLAGS = (
    "-std=gnu11", "-w", "-fPIC", "-shared", "-march=native", "-ffp-contract=off",
    "-fno-strict-aliasing", "-fno-math-errno", "-fvisibility=hidden",
)  # fmt: skip
_MACHINE_FLAGS, _KERNEL_FLAGS = ("-O2",), ("-O2",)


@functools.cache
def compiler() -> tuple[str, ...] | None:
    """The host's C compiler: $CC, cc, gcc, clang, or the one in ziglang; None where there is none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and (path := shutil.which(name)):
            return (path,)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", "cc")
    return None


def _needed() -> tuple[str, ...]:
    command = compiler()
    if command is None:
        raise EmulationError("an emulation needs a C compiler: cc, gcc or clang in PATH, or $CC")
    return command


@functools.cache
def _sources() -> tuple[str, ...]:
    package = files("dslc.runtime.hip_emulator")
    names = (*_UNITS, *_HEADERS)
    return tuple(package.joinpath(name).read_text(encoding="utf-8") for name in names)


@functools.cache
def _identity() -> str:
    """The compiler, and the host that -march=native is for."""
    command = [*_needed(), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + processor_features()


@functools.cache
def _own() -> str:
    """What every library depends on beside its command and text."""
    return key_of(_identity(), *_sources())


@functools.cache
def machine() -> ctypes.CDLL:
    """The machine's library."""
    library = ctypes.CDLL(str(_build("machine", [*_MACHINE_FLAGS, *_UNITS], {})))
    sizes = tuple((ctypes.c_uint32 * 4).in_dll(library, "hip_emulator_layout"))
    assert sizes == tuple(map(ctypes.sizeof, (Ins, Access, Request, Allocation))), sizes
    return library


# The addresses of functions by their chip and C.
_ADDRESSES: dict[tuple[str, str], int] = {}
_LIBRARIES: dict[Path, ctypes.CDLL] = {}


def addresses(chip: str, functions: Sequence[str]) -> dict[str, int]:
    """Where each function is, by its C with NAME for its name.

    A function is compiled once a host: its file is a link to the library that has it, among others.
    """
    missing = [f for f in functions if (chip, f) not in _ADDRESSES]
    if missing:
        head = "#define OCP\n" if chip == "gfx950" else ""
        head += "".join(f'#include "{name}"\n' for name in _KERNEL_HEADERS)
        words = [*_KERNEL_FLAGS, "kernel.c"]
        files = {f: _file("function", words, head, f) for f in missing}
        names = {f: f"f{file.stem.rpartition('-')[2]}" for f, file in files.items()}
        libraries = {f: file.resolve() for f, file in files.items() if file.exists()}
        new = [f for f in missing if f not in libraries]
        if new:
            bodies = "\n".join(f.replace("NAME", names[f]) for f in new)
            library_of = _build("kernel", words, {"kernel.c": head + bodies + "\n"})
            libraries |= dict.fromkeys(new, library_of)
            for function in new:
                with suppress(FileExistsError):  # another process was as quick
                    files[function].unlink(missing_ok=True)  # its library is gone
                    files[function].symlink_to(library_of.name)
        for function, library in libraries.items():
            symbol = getattr(_opened(library), names[function])
            address = ctypes.cast(symbol, ctypes.c_void_p).value
            assert address is not None
            _ADDRESSES[chip, function] = address
    return {f: _ADDRESSES[chip, f] for f in functions}


def _opened(path: Path) -> ctypes.CDLL:
    if path not in _LIBRARIES:
        _LIBRARIES[path] = ctypes.CDLL(str(path))
    return _LIBRARIES[path]


def _command(words: list[str]) -> list[str]:
    return [*_needed(), *_FLAGS, *words, "-lm"]


def _file(name: str, words: list[str], *texts: str) -> Path:
    """Where what a command makes of texts is kept."""
    return kept_folder("hip-emulator") / f"{name}-{key_of(_own(), *_command(words), *texts)}.so"


def _build(name: str, words: list[str], texts: dict[str, str]) -> Path:
    path = _file(name, words, *texts.values())
    if problem := make(path, _command(words), texts, "dslc.runtime.hip_emulator", _UNITS):
        raise EmulationError(f"the translated text does not compile:\n{problem[:4000]}")
    return path
