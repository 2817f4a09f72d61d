"""nvcc: the compiler of a CUDA toolkit, for who wants it; a cubin takes it about a second."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from dslc.codegen.cuda.tools.locate import find_tool, missing
from dslc.codegen.cuda.tools.nvrtc import Compilation
from dslc.codegen.tools import ended
from dslc.compiler.scratch import scratch_folder


def nvcc_path() -> str:
    """The program; DSL0951 where there is none."""
    path = find_tool("nvcc")
    if path is None:
        raise missing("nvcc", "nvidia-cuda-nvcc")
    return path


def nvcc_identity() -> str:
    """Its version and build, as it says them itself."""
    said = subprocess.run(
        [nvcc_path(), "--version"], capture_output=True, text=True, check=False, timeout=60
    )
    return "nvcc " + (said.stdout.strip().splitlines() or ["of unknown version"])[-1]


def compile_with_nvcc(source: str, name: str, options: Sequence[str], ptx: bool) -> Compilation:
    """Compile one text to a cubin, or to PTX alone."""
    with scratch_folder("nvcc") as folder:
        path = Path(folder) / name
        path.write_text(source, encoding="utf-8")
        output = path.with_suffix(".out")
        kind = "--ptx" if ptx else "--cubin"
        command = [nvcc_path(), kind, "-o", str(output), *options, name]
        done = ended(command, folder)
        log = done.stderr + done.stdout
        if done.returncode:
            refused = "Unsupported gpu architecture" in log or "Unknown option" in log
            return Compilation(False, refused, log)
        content = output.read_bytes()
        return Compilation(True, False, log, *((b"", content.decode()) if ptx else (content, "")))
