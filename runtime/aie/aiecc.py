"""aiecc, mlir-aie's driver: from a module's text to the files that XRT loads, kept by what they are of.

A module of one device becomes an xclbin and the instructions of its sequence. One whose sequence
configures the array for several devices becomes an ELF that holds all of them.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dslc.compiler.diagnostics import error
from dslc.runtime.aie_simulator.module import load
from dslc.runtime.host_libraries import kept_folder, key_of
from dslc.runtime.ownership import refuse_foreign

NAMES = ("aiecc", "aiecc.py")
XCLBIN, INSTRUCTIONS, ELF = "kernel.xclbin", "kernel.bin", "kernel.elf"
XCLBIN_KERNEL = "MLIR_AIE"

_CORES = ("--no-xchesscc", "--no-xbridge")  # by Peano, the compiler that is free
_PAIR = (
    *("--get-xclbin", f"--xclbin-name={XCLBIN}"),
    *("--get-npu-insts", f"--npu-insts-name={INSTRUCTIONS}"),
)
_WHOLE = ("--get-full-elf", f"--full-elf-name={ELF}")


@dataclass(frozen=True, slots=True)
class Built:
    """What aiecc made: the folder, the kernel's name in it, and whether it is one ELF."""

    folder: Path
    kernel: str
    is_whole: bool


def find() -> str | None:
    """The program, where PATH has it."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def build(text: str) -> Built:
    """The files of a module, made where they are not kept.

    DSL0844 without aiecc, DSL0845 where it refuses the module or leaves out a file.
    """
    program = find()
    if program is None:
        raise error(
            "DSL0844",
            "aiecc is not in PATH, which makes modules for an NPU",
            hint="install mlir-aie 1.4 or later, or leave DSLC_NPU unset for the simulator",
        )
    module = load(text)
    whole = module.configures
    kernel = f"{module.main}:{module.sequence}" if whole else XCLBIN_KERNEL
    options, files = (_WHOLE, (ELF,)) if whole else (_PAIR, (XCLBIN, INSTRUCTIONS))
    root = kept_folder("npu")
    folder = root / key_of(text, _identity(program), *_CORES, *options)
    if not folder.exists():
        _make(program, (*_CORES, *options), text, files, folder)
    refuse_foreign(folder, *(folder / name for name in files))
    return Built(folder, kernel, whole)


def _make(
    program: str, options: tuple[str, ...], text: str, files: tuple[str, ...], folder: Path
) -> None:
    """Whoever looks for the folder meanwhile finds none, or all of it."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        Path(place, "kernel.mlir").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [program, *options, "kernel.mlir"],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise error("DSL0845", f"aiecc ended with {done.returncode}: {said}")
        made = Path(place, "made")
        made.mkdir(mode=0o700)
        for name in files:
            if not Path(place, name).is_file():
                missing = f"aiecc ended well and made no {name}: is it of mlir-aie 1.4 or later?"
                raise error("DSL0845", missing)
            os.replace(Path(place, name), made / name)
            (made / name).chmod(0o600)
        with suppress(OSError):  # another process made it as well
            os.rename(made, folder)


@functools.cache
def _identity(program: str) -> str:
    """What tells one release from another."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    place = Path(program).resolve()
    found = place.stat()
    return "\n".join([str(place), str(found.st_size), str(found.st_mtime_ns), done.stdout])
