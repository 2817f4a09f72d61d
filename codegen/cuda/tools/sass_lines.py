"""Machine code of NVIDIA GPUs beside the lines of the text that it was compiled from.

nvdisasm prints them where the text was compiled with line information. What stands in a function that
was inlined counts for the line that calls it.
"""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

from dslc.codegen.cuda.tools.locate import find_tool
from dslc.compiler.scratch import scratch_folder

_LONGEST = 60.0  # seconds
_LINE = re.compile(r'^\s*//## File "[^"]*", line (\d+)(?! inlined)\s*$')
_CODE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.+?)\s*;\s*$")
_FUNCTION = re.compile(r"^\.text\.(\S+):")


@functools.lru_cache(maxsize=64)  # kernels of programs are often the same
def sass_lines(cubin: bytes) -> list[tuple[str, int | None]]:
    """Instructions with the number of their line; functions begin with their names.

    Empty without nvdisasm, or where it cannot read the code.
    """
    tool = find_tool("nvdisasm")
    if tool is None:
        return []
    with scratch_folder("sass") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run(
            [tool, "-gi", "-c", str(path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST,
        )
    return parse_sass(done.stdout) if done.returncode == 0 else []


def parse_sass(printed: str) -> list[tuple[str, int | None]]:
    """What nvdisasm printed, as `sass_lines` gives it."""
    line: int | None = None
    lines: list[tuple[str, int | None]] = []
    for text in printed.splitlines():
        if (function := _FUNCTION.match(text)) is not None:
            line = None
            lines.append((f"{function[1]}:", None))
        elif (place := _LINE.match(text)) is not None:
            line = int(place[1])
        elif (code := _CODE.match(text)) is not None:
            lines.append((f"  {code[1]}  {code[2]}", line))
    return lines
