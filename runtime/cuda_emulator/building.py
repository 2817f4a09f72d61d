"""Libraries from translated text, by the host's C++ compiler; what was built is kept by its text."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

from dslc.runtime.cuda_emulator.errors import EmulationError
from dslc.runtime.cuda_emulator.translating import translate
from dslc.runtime.host_libraries import kept_folder, key_of, make

_UNITS = ("machine.cc", "memory.cc", "matrix.cc", "hopper.cc", "main.cc")
_HEADERS = ("machine.h", "runner.h", "emulator.h", "ptx.h")
_CHECKS = "alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero"
# Every operation rounds by itself; registers that nothing wrote hold a pattern that no result has.
# Compiling takes far longer than small launches: -O1 would double it to save a third of them.
_FLAGS = (
    "-std=c++17", "-O0", "-g1", "-fPIC", "-shared", "-w", "-ffp-contract=off", "-fno-exceptions",
    "-fno-rtti", "-fno-strict-aliasing", f"-fsanitize={_CHECKS}", "-fno-sanitize-recover=all",
    "-ftrivial-auto-var-init=pattern", "-nodefaultlibs",
)  # fmt: skip


@functools.cache
def compiler() -> str | None:
    """The host's C++ compiler: $CXX, g++ or clang++; None where there is none."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    return None


def _needed() -> str:
    command = compiler()
    if command is None:
        raise EmulationError("an emulation needs a C++ compiler: g++ or clang++ in PATH, or $CXX")
    return command


@functools.cache
def _sources() -> dict[str, str]:
    package = files("dslc.runtime.cuda_emulator")
    return {n: package.joinpath(n).read_text(encoding="utf-8") for n in (*_UNITS, *_HEADERS)}


def _key(*parts: str) -> str:
    return key_of(_identity(), *parts, *_sources().values())


@functools.cache
def _identity() -> str:
    done = subprocess.run([_needed(), "--version"], capture_output=True, text=True, check=False)
    return done.stdout


def runner() -> Path:
    """The program that runs libraries."""
    units = " ".join(_UNITS)
    # Fibers leave frames by longjmp to other stacks, which hardened libraries would take for an error.
    flags = ["-std=c++17", "-O2", "-U_FORTIFY_SOURCE", "-rdynamic", *units.split(), "-ldl", "-lm"]
    return _build("runner", _key("runner", *flags), flags, {})


def library(text: str, entry: str) -> Path:
    """The library of a kernel's text."""
    source = translate(text, entry)
    flags = [*_FLAGS, "kernel.cc", "-lm", "-lc"]
    return _build(entry, _key(source, *flags), flags, {"kernel.cc": source})


def _build(name: str, key: str, flags: list[str], texts: dict[str, str]) -> Path:
    path = kept_folder("emulator") / f"{name}-{key}.so"
    if problem := make(path, [_needed(), *flags], texts, "dslc.runtime.cuda_emulator", _UNITS):
        raise EmulationError(f"the translated text does not compile:\n{problem[:4000]}")
    return path
