"""Objects linked to a dynamic library for macOS: by Apple's linker there, elsewhere by pip's ziglang.

A library for Apple's CPUs is signed, which both do; so it is not ours to write.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from dslc.codegen.tools import Command, run
from dslc.compiler.diagnostics import error
from dslc.compiler.scratch import scratch_folder

_CPUS = {0x1000007: "x86_64", 0x100000C: "aarch64"}  # Mach-O's cputype


def link_macho(objects: Mapping[str, bytes]) -> bytes:
    """The dylib of objects by name. DSL0951 without a linker, DSL0952 where it refuses them."""
    cpu = _CPUS.get(int.from_bytes(next(iter(objects.values()))[4:8], "little"), "unknown")
    with scratch_folder("macho") as folder:
        for name, content in objects.items():
            Path(folder, name).write_bytes(content)
        done = run((*_linker(cpu), "-o", "out.dylib", *objects), folder)
        if done.returncode:
            said = (done.stderr + done.stdout).strip()
            raise error(
                "DSL0952",
                f"the objects cannot be linked for macOS: {said[:2000]}",
                hint="this is a defect of the generator",
            )
        return Path(folder, "out.dylib").read_bytes()


def _linker(cpu: str) -> Command:
    shape = ("-dynamiclib", "-nostdlib", "-Wl,-install_name,kernel.dylib")
    if sys.platform == "darwin" and (own := shutil.which("clang")):
        return (own, "-arch", {"aarch64": "arm64"}.get(cpu, cpu), *shape)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc", "-target", f"{cpu}-macos", *shape)
    raise error(
        "DSL0951",
        "there is no linker for macOS",
        hint="xcode-select --install brings Apple's; elsewhere pip install ziglang",
    )
