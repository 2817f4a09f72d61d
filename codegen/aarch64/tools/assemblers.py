"""The programs that assemble and link AArch64: GNU binutils, pip's ziglang, clang with lld.

Each is a way from files of assembly to one file of a kind. What they emit differs in the ELF around
the code, never in the code; the one that is taken is part of an artifact's identity. GNU binutils come
first since they take 5 ms where the clang within ziglang takes 26; ziglang comes from pip, and it alone
makes libraries for macOS elsewhere. docs/decisions/0017-assembling-aarch64.md has the figures.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dslc.codegen.tools import Command, installed, version

Kind: TypeAlias = Literal["library", "program", "dylib"]
"""A shared library or a static program for Linux, a dynamic library for macOS."""

VARIABLE = "DSLC_AARCH64_ASSEMBLER"
_PAGE = 0x10000  # the largest page of an Arm Linux


@dataclass(frozen=True, slots=True)
class Assembler:
    """One toolchain that is installed. `commands` gives what to run for sources, output and kind."""

    name: str
    kinds: tuple[Kind, ...]
    version: Command
    commands: Callable[[Sequence[str], str, Kind], tuple[Command, ...]]

    @property
    def identity(self) -> str:
        """Its name and version: what the bytes of its output depend on beyond the sources."""
        return f"{self.name} {version(self.version)}"


def assemblers() -> Iterator[Assembler]:
    """Those that are installed, the preferred first; `DSLC_AARCH64_ASSEMBLER` limits them to one."""
    return installed(VARIABLE, {"gnu": _gnu, "zig": _zig, "clang": _clang})


def _gnu() -> Assembler | None:
    """binutils for AArch64; on an Arm Linux its own."""
    own = platform.machine() == "aarch64" and sys.platform == "linux"
    for prefix in ("aarch64-linux-gnu-", *(("",) if own else ())):
        tool, linker = shutil.which(f"{prefix}as"), shutil.which(f"{prefix}ld")
        if tool and linker:
            break
    else:
        return None
    as_path, ld_path = tool, linker

    def commands(sources: Sequence[str], output: str, kind: Kind) -> tuple[Command, ...]:
        objects = [f"{s}.o" for s in sources]
        assembled = [(as_path, "-o", o, s) for s, o in zip(sources, objects, strict=True)]
        link = ("-shared", "--hash-style=both") if kind == "library" else ("-static",)
        # Without relro: a page of its own would protect 200 bytes that nobody writes.
        options = (f"max-page-size={_PAGE}", "noexecstack", "norelro")
        flags = ("--build-id=none", "-s", *(word for o in options for word in ("-z", o)))
        return (*assembled, (ld_path, *link, *flags, "-o", output, *objects))

    return Assembler("gnu", ("library", "program"), (as_path, "--version"), commands)


def _zig() -> Assembler | None:
    """The clang and lld of pip's ziglang."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    zig = (sys.executable, "-m", "ziglang")

    def commands(sources: Sequence[str], output: str, kind: Kind) -> tuple[Command, ...]:
        return ((*zig, "cc", *_clang_flags(kind), "-o", output, *sources),)

    return Assembler("zig", ("library", "program", "dylib"), (*zig, "version"), commands)


def _clang() -> Assembler | None:
    """A clang of the system, with lld; on macOS Apple's."""
    mac = sys.platform == "darwin"
    path = shutil.which("clang")
    if path is None or not (mac or shutil.which("ld.lld")):
        return None
    clang = path

    def commands(sources: Sequence[str], output: str, kind: Kind) -> tuple[Command, ...]:
        linker = () if mac else ("-fuse-ld=lld",)
        return ((clang, *_clang_flags(kind), *linker, "-o", output, *sources),)

    kinds: tuple[Kind, ...] = ("dylib",) if mac else ("library", "program")
    return Assembler("clang", kinds, (clang, "--version"), commands)


def _clang_flags(kind: Kind) -> Command:
    if kind == "dylib":
        return ("-target", "aarch64-macos", "-dynamiclib", "-nostdlib", "-g0")
    shape = "-shared" if kind == "library" else "-static"
    flags = ("-target", "aarch64-linux-gnu", shape, "-nostdlib", "-g0", "-Wl,-s")
    return (*flags, "-Wl,--build-id=none", f"-Wl,-z,max-page-size={_PAGE}")
