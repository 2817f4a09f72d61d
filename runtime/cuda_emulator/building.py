"""Libraries from translated text, by the host's C++ compiler; what was built is kept by its text."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from dslc.runtime.cuda_emulator.errors import EmulationError
from dslc.runtime.cuda_emulator.translating import translate

_UNITS = ("machine.cc", "memory.cc", "matrix.cc", "hopper.cc", "main.cc")
_HEADERS = ("machine.h", "runner.h", "emulator.h", "ptx.h")
_CHECKS = "alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero"
# Every operation rounds by itself; registers that nothing wrote hold a pattern that no result has.
_FLAGS = (
    "-std=c++17", "-O1", "-g1", "-fPIC", "-shared", "-w", "-ffp-contract=off", "-fno-exceptions",
    "-fno-rtti", "-fno-strict-aliasing", f"-fsanitize={_CHECKS}", "-fno-sanitize-recover=all",
    "-ftrivial-auto-var-init=pattern", "-nodefaultlibs",
)  # fmt: skip


@functools.cache
def compiler() -> str | None:
    """The host's C++ compiler: $CXX, g++ or clang++; None where there is none."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    return None


def _needed() -> str:
    found = compiler()
    if found is None:
        raise EmulationError("an emulation needs a C++ compiler: g++ or clang++ in PATH, or $CXX")
    return found


def _folder() -> Path:
    root = os.environ.get("DSLC_CACHE_DIR")
    if not root:
        root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        root = str(Path(root) / "dslc")
    folder = Path(root) / "emulator"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@functools.cache
def _sources() -> dict[str, str]:
    package = files("dslc.runtime.cuda_emulator")
    return {n: package.joinpath(n).read_text(encoding="utf-8") for n in (*_UNITS, *_HEADERS)}


def _key(*parts: str) -> str:
    everything = "\0".join([_identity(), *parts, *_sources().values()])
    return hashlib.sha256(everything.encode()).hexdigest()[:32]


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
    path = _folder() / f"{name}-{key}.so"
    if path.exists():
        return path
    with (
        as_file(files("dslc.runtime.cuda_emulator")) as package,
        tempfile.TemporaryDirectory(dir=_folder()) as place,
    ):
        for file, text in texts.items():
            Path(place, file).write_text(text, encoding="utf-8")
        words = [str(package / f) if f in _UNITS else f for f in flags]
        done = subprocess.run(
            [_needed(), f"-I{package}", *words, "-o", "out"],
            cwd=place, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise EmulationError(f"the translated text does not compile:\n{done.stderr[:4000]}")
        os.replace(Path(place, "out"), path)
    return path
