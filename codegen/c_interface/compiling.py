"""C to shared libraries for Linux: by pip's ziglang for any host, or by a compiler of this machine.

What zig makes depends on its version alone, so that two machines with one version give the same bytes.
The C library is left to the process that loads them: every one has it, and zig would build it first.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dslc.codegen.tools import ended
from dslc.compiler.diagnostics import error
from dslc.compiler.scratch import scratch_folder

EXTRA = "aarch64"  # of dslc's wheel, which brings a compiler for every host
_TRIPLES = {"x86_64-linux": "x86_64-linux-gnu.2.17", "aarch64-linux": "aarch64-linux-gnu.2.17"}
# -fno-sanitize: zig adds checks of undefined behaviour that call a library of its own.
_FLAGS = (
    "-std=gnu11", "-O2", "-g0", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=all", "-I", "include",
)  # fmt: skip
_LINKED = ("-shared", "-nostdlib", "-Wl,--build-id=none", "-Wl,-s")


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler, and the hosts that it makes libraries for."""

    command: tuple[str, ...]
    identity: str
    hosts: tuple[str, ...]
    cross: bool

    def library(self, inputs: Mapping[str, bytes], sources: Sequence[str], host: str) -> bytes:
        """One library of C and assembly; `inputs` are all files by path, `sources` those to compile.

        DSL0952 where a source is refused.
        """
        command = (*self.command, *(("-target", _TRIPLES[host]) if self.cross else ()))
        with scratch_folder("c") as folder:
            for path, content in inputs.items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            objects = [f"{number}.o" for number in range(len(sources))]
            compiled = [
                (*command, *_FLAGS, "-c", "-o", built, source)
                for source, built in zip(sorted(sources), objects, strict=True)
            ]
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                list(pool.map(lambda line: _run(line, folder), compiled))
            _run((*command, *_LINKED, "-o", "out.so", *objects), folder)
            return Path(folder, "out.so").read_bytes()


def _run(command: Sequence[str], folder: str) -> None:
    caches = {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
    done = ended(command, folder, {**os.environ, **caches, "LC_ALL": "C"})
    if done.returncode:
        text = f"the C interface does not compile: {(done.stderr + done.stdout).strip()[:2000]}"
        raise error("DSL0952", text, hint="this is a defect of the generator")


def find_compiler() -> Compiler:
    """The preferred compiler; DSL0951 without one."""
    compiler = _zig() or _own()
    if compiler is None:
        raise error(
            "DSL0951",
            "there is no C compiler for the libraries of the package",
            hint=f"pip install 'dslc[{EXTRA}]', or leave tvm-ffi and huggingface out of consumers",
        )
    return compiler


def _zig() -> Compiler | None:
    if importlib.util.find_spec("ziglang") is None:
        return None
    command = (sys.executable, "-m", "ziglang")
    identity = f"zig {_said((*command, 'version'))}"
    return Compiler((*command, "cc"), identity, tuple(_TRIPLES), cross=True)


def _own() -> Compiler | None:
    path = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    host = f"{platform.machine()}-linux"
    if path is None or host not in _TRIPLES or not sys.platform.startswith("linux"):
        return None
    return Compiler((path,), _said((path, "--version")), (host,), cross=False)


@functools.cache
def _said(command: tuple[str, ...]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return (done.stdout.strip().splitlines() or ["of unknown version"])[0]
