"""FlyDSL source to ISA text, by the flydsl package, with neither a GPU nor ROCm.

The package is asked in a process of its own: it reads its settings from the environment when it is
imported, and imports torch, of which compiling needs nothing but names.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path

from dslc.codegen.hip.compilers import compilers
from dslc.codegen.tools import ended
from dslc.compiler.diagnostics import DiagnosticError, Loc, error
from dslc.compiler.scratch import scratch_folder

_HINT = "this is a defect of the generator: `dslc build --emit flydsl` shows the text"


def is_installed() -> bool:
    """Whether there is a flydsl package to ask."""
    return importlib.util.find_spec("flydsl") is not None


def compile_flydsl(source: str, chip: str) -> dict[str, str]:
    """The ISA text of each kernel of a source, by its name, for `gfx942` or `gfx950`.

    DSL0951 without the package or a linker for AMD GPUs, DSL0952 where the source does not compile.
    """
    tool = next(compilers(), None)
    if tool is None or not is_installed():
        text = "FlyDSL is not installed" if tool else "there is no linker for AMD GPUs"
        raise error("DSL0951", text, hint="pip install 'dslc[hip,flydsl]'")
    with scratch_folder("flydsl") as folder:
        path = Path(folder, "kernels.py")
        path.write_text(source, encoding="utf-8")
        linker = Path(folder, "llvm", "bin", "ld.lld")
        linker.parent.mkdir(parents=True)
        linker.write_text(f'#!/bin/sh\nexec {shlex.join(tool.linker)} "$@"\n', encoding="utf-8")
        linker.chmod(0o755)
        _ask(path, chip, folder)
        return {
            dump.parent.name: dump.read_text(encoding="utf-8")
            for dump in sorted(Path(folder, "dump").glob("*/*.s"))
        }


def _ask(path: Path, chip: str, folder: str) -> None:
    own = {
        "COMPILE_ONLY": "1",
        "ARCH": chip,
        "FLYDSL_GPU_ARCH": chip,
        "FLYDSL_DEBUG_DUMP_ASM": "1",
        "FLYDSL_DUMP_DIR": str(Path(folder, "dump")),
        "FLYDSL_RUNTIME_ENABLE_CACHE": "0",
        "ROCM_PATH": folder,
        "ZIG_GLOBAL_CACHE_DIR": folder,
        "ZIG_LOCAL_CACHE_DIR": folder,
    }
    asking = str(Path(__file__).with_name("asking.py"))
    done = ended((sys.executable, "-P", asking, str(path)), str(folder), {**os.environ, **own})
    if done.returncode:
        raise _refused(done.stderr or done.stdout, path)


def _refused(log: str, path: Path) -> DiagnosticError:
    """What the package said last, with the line of the source that it had come to."""
    said = [line.strip() for line in log.splitlines() if line.strip()] or ["no reason was given"]
    lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', log)
    place = Loc(path.name, int(lines[-1]), 1) if lines else None
    message = f"the emitted FlyDSL does not compile: {said[-1]}"
    if place is not None:
        shown = path.read_text(encoding="utf-8").splitlines()[place.line - 1].strip()
        message += f": `{shown}`"
    return error("DSL0952", message, place, hint=_HINT)
