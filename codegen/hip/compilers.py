"""The compilers of HIP C++ that may be installed: pip's ziglang, ROCm's own, a clang of the system.

Each is a clang with an assembler and a linker for AMD GPUs. None needs ROCm's headers or device
libraries for the texts that are emitted here, and none needs a GPU.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dslc.codegen.tools import Command, installed, version

VARIABLE = "DSLC_HIP_COMPILER"
_ROCM = ("ROCM_PATH", "HIP_PATH")
_SYSTEM = Path("/opt/rocm")
_LEAST_CLANG = 20  # that knows gfx950


@dataclass(frozen=True, slots=True)
class Compiler:
    """One that is installed: how its clang and its linker are called."""

    name: str
    clang: Command
    linker: Command

    @property
    def identity(self) -> str:
        """Its name and version: what the bytes of its output depend on beyond the sources."""
        return f"{self.name} {version((*self.clang, '--version'))}"


def compilers() -> Iterator[Compiler]:
    """Those that are installed, the preferred first; `DSLC_HIP_COMPILER` limits them to one."""
    return installed(VARIABLE, {"zig": _zig, "rocm": _rocm, "clang": _clang})


def _zig() -> Compiler | None:
    module = importlib.util.find_spec("ziglang")
    if module is None or module.origin is None:
        return None
    # The package's own program: by `python -m ziglang` each of three steps takes 40 ms longer.
    program = Path(module.origin).with_name("zig.exe" if os.name == "nt" else "zig")
    zig = (str(program),) if program.is_file() else (sys.executable, "-m", "ziglang")
    return Compiler("zig", (*zig, "clang"), (*zig, "ld.lld"))


def _rocm() -> Compiler | None:
    """The clang behind hipcc."""
    homes = [Path(os.environ[v]) for v in _ROCM if os.environ.get(v)]
    for home in (*homes, _SYSTEM):
        for tools in (home / "llvm" / "bin", home / "lib" / "llvm" / "bin"):
            clang, linker = tools / "clang", tools / "ld.lld"
            if clang.is_file() and linker.is_file():
                return Compiler("rocm", (str(clang),), (str(linker),))
    return None


def _clang() -> Compiler | None:
    """The newest clang in PATH that knows both chips, with the lld of its version."""
    numbers = []
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        names = (p.name for p in Path(folder).glob("clang-*")) if Path(folder).is_dir() else ()
        numbers += [int(m[1]) for n in names if (m := re.fullmatch(r"clang-(\d+)", n))]
    for number in sorted(set(numbers), reverse=True):
        clang, linker = shutil.which(f"clang-{number}"), shutil.which(f"ld.lld-{number}")
        if number >= _LEAST_CLANG and clang and linker:
            return Compiler("clang", (clang,), (linker,))
    return None
