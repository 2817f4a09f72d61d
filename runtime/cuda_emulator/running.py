"""One launch in a process of its own: arguments in a file, faults as reports."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from dslc.runtime.cuda_emulator.building import library, runner
from dslc.runtime.cuda_emulator.errors import EmulationError
from dslc.runtime.cuda_emulator.translating import (
    Parameter,
    cluster_of,
    entries,
    meets_other_blocks,
)
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BoxMap:
    """A tensor map of the array that is argument number `of`: extents, strides in bytes, the box.

    The fastest axis comes first; `bytes` are those of an element, `swizzle` those of its width.
    """

    of: int
    bytes: int
    swizzle: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]

    def line(self) -> str:
        """As the runner reads it."""
        axes = zip(self.extents, (self.bytes, *self.strides), self.box, strict=True)
        words = [
            self.of,
            self.bytes,
            self.swizzle,
            len(self.box),
            *(x for axis in axes for x in axis),
        ]
        return "m " + " ".join(map(str, words))


Argument = NDArray[Any] | int | float | BoxMap

_FORMATS = {
    "bool": "?", "int": "i", "unsigned": "I", "unsigned int": "I", "long long": "q",
    "unsigned long long": "Q", "float": "f", "double": "d", "short": "h", "unsigned short": "H",
}  # fmt: skip
_SIDE_BY_SIDE = 16  # blocks at once where blocks wait for one another; more where all of them wait
_ALIGN = 64  # in the file
_BUFFER_ALIGN = 16


def emulate(
    text: str,
    entry: str,
    args: Sequence[Argument],
    grid: int,
    threads: int,
    shared_bytes: int = 0,
    seed: int = 0,
    timeout: float = 100.0,
    alignments: Mapping[int, int] = MappingProxyType({}),
    dependent: bool = False,
) -> str:
    """Run a kernel over `grid` blocks of `threads`; gives what it printed.

    `args` are in the order of the parameters: arrays for pointers (those that are not const are
    written in place), numbers for the rest. The seed decides the order of blocks and threads (even:
    every choice is uniform, odd: threads keep priorities, so that some lag far behind) and when
    copies land. Buffers begin at multiples of 16 bytes, or of fewer: `alignments` gives them by the
    numbers of arguments. A `dependent` launch, and one whose text speaks of such, begins while a launch
    before it may still run: until its threads wait no tensor is touched. EmulationError tells what the
    kernel did that a GPU forbids: accesses outside a buffer or misaligned, threads that wait for ever,
    barriers that diverge, PTX without a host version, shared memory of blocks that have ended. Blocks
    are clusters as the text declares them.
    """
    if grid == 0:
        return ""
    path = library(text, entry)
    params = entries(text)[entry]
    if len(params) != len(args):
        raise EmulationError(f"{entry} takes {len(params)} arguments, not {len(args)}")
    data = bytearray()
    lines, places = [], []
    for number, (param, arg) in enumerate(zip(params, args, strict=True)):
        if isinstance(arg, BoxMap):
            lines.append(arg.line())
            continue
        if not param.pointer:
            lines.append(f"s {_number(param, arg):x}")
            continue
        array = _array(param, arg)
        data += bytes(-len(data) % _ALIGN)
        place = f"{len(data)} {array.nbytes} {alignments.get(number, _BUFFER_ALIGN)}"
        lines.append(f"p {int(param.constant)} {place} {param.name}")
        if not param.constant:
            places.append((array, len(data)))
        data += array.tobytes()
    resident = _SIDE_BY_SIDE if meets_other_blocks(text) else 1
    early = int(dependent or "griddepcontrol" in text)
    cluster = cluster_of(text, entry)
    if grid % cluster:
        raise EmulationError(f"clusters of {cluster} do not divide {grid} blocks")
    seed %= 1 << 63
    words = (grid, threads, cluster, shared_bytes, resident, seed, early, len(args))
    head = " ".join(map(str, words))
    with tempfile.TemporaryDirectory(prefix=f"dslc-emulator-{os.getpid()}-") as folder:
        request, content = Path(folder, "request"), Path(folder, "data")
        request.write_text("\n".join([head, *lines, ""]))
        content.write_bytes(data)
        printed = _run([str(runner()), str(path), str(request), str(content)], timeout, text)
        result = content.read_bytes()
    for array, at in places:
        flat = np.frombuffer(result, np.uint8, array.nbytes, at)
        # What a kernel left as it was may be another argument's: columns of one tensor.
        changed = flat != np.frombuffer(data, np.uint8, array.nbytes, at)
        np.copyto(array.reshape(-1).view(np.uint8), flat, where=changed)
    return printed


def _array(param: Parameter, arg: Argument) -> NDArray[Any]:
    if not isinstance(arg, np.ndarray) or not arg.flags.c_contiguous:
        raise EmulationError(f"{param.name} is a pointer: it needs an array in C order")
    return arg


def _number(param: Parameter, arg: Argument) -> int:
    code = _FORMATS.get(param.ctype)
    if code is None or (isinstance(arg, np.ndarray) and arg.ndim):
        raise EmulationError(f"{param.name} is a {param.ctype}: it cannot be {type(arg).__name__}")
    value: Any = arg
    packed = struct.pack("<" + code, float(value) if code in "fd" else int(value))
    return int.from_bytes(packed, "little")


def _run(command: list[str], timeout: float, text: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        raise EmulationError(f"the kernel did not end within {timeout:g} s") from None
    if done.returncode == 0:
        return done.stdout
    reports = re.findall(r"^emulator: (.*)$", done.stderr, re.MULTILINE)
    report = reports[0] if reports else f"the runner ended with {done.returncode}: {done.stderr}"
    origin = re.search(r"^emulator-origin: (\w+)$", done.stderr, re.MULTILINE)
    line = _line_of(command[1], origin[1]) if origin else None
    if line is None and (number := re.search(r"\bline (\d+)", report)):
        line = int(number[1])
    lines = text.splitlines()
    if line and line <= len(lines):
        report += f"\n  line {line}: {lines[line - 1].strip()}"
    raise EmulationError(report + (f"\n{done.stdout}" if done.stdout else ""))


def _line_of(path: str, address: str) -> int | None:
    """The line of the kernel at an address of its library, by binutils where they are."""
    tool = shutil.which("addr2line")
    if tool is None:
        return None
    command = [tool, "-i", "-e", path, address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = re.findall(r"kernel\.c[cu]:(\d+)", done.stdout)
    return int(lines[-1]) if lines else None
