"""HIP C++ and assembly for the emulator's tests, compiled by the clang of ziglang."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from dslc.codegen.hip.toolchain import DEFAULT, find_compiler
from dslc.runtime.hip_emulator import Module, compiler

CHIPS = ("gfx942", "gfx950")
needs_clang = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None or compiler() is None,
    reason="needs ziglang and a C compiler",
)


@functools.cache
def isa(source: str, chip: str, level: str = "-O3") -> str:
    """The ISA text of a HIP C++ source."""
    flags = [
        "-x",
        "hip",
        f"--offload-arch={chip}",
        "--offload-device-only",
        "-nogpuinc",
        "-nogpulib",
    ]
    return _clang([*flags, level, "-g1", "-S"], source, "kernel.hip")


@functools.cache
def module(source: str, chip: str, level: str = "-O3") -> Module:
    """A source's kernels in the emulator."""
    return Module(isa(source, chip, level))


def assembles(text: str, chip: str) -> None:
    """CalledProcessError where the assembler refuses a text."""
    _clang(
        ["-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-c"], text, "kernel.s"
    )


def understood(source: str, chip: str) -> None:
    """ValueError where clang finds a fault in a HIP C++ source; no code is made, which takes long."""
    compiler = find_compiler()
    command = [*compiler.clang, *DEFAULT.flags(chip), "-fsyntax-only", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr)


def compiles(source: str, chip: str) -> None:
    """ValueError where clang makes no code of a HIP C++ source; optimised little, for time."""
    _clang([*DEFAULT.flags(chip), "-O1", "-S"], source, "kernel.hip")


def _clang(flags: list[str], source: str, name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, name), Path(folder, "out")
        path.write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "ziglang", "clang", *flags, str(path), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(done.stderr)
        return out.read_text(encoding="utf-8") if "-S" in flags else ""
