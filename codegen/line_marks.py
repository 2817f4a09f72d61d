"""Which line of a kernel's source an emitted line is for: marks in the text, for who asks for them.

    with line_marks():
        artifact = machine.compile(program, config, hashes)
    unmarked(artifact.file("kernel.cu").decode())    [("  acc[i] = 0.0f;", ("gemm.tile", 12)), ...]

Writers of C and Python end a line with a remark, LLVM's text has debug locations. Without
`line_marks` no text changes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias
from urllib.parse import unquote

from dslc.compiler.diagnostics import Loc

Place: TypeAlias = tuple[str, int]  # a file and a line, from 1
_MARK = re.compile(r"\s*(?://|#)@line (.+):(\d+)$")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+.*?"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")

_wanted: ContextVar[bool] = ContextVar("line_marks", default=False)


@contextmanager
def line_marks() -> Iterator[None]:
    """What is emitted in this context says for which lines it is."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


def are_wanted() -> bool:
    """Whether marks are asked for here."""
    return _wanted.get()


def marked(line: str, loc: Loc | None, remark: str) -> str:
    """A line with its mark, after the word that begins a remark; as it is where none is asked for."""
    if not _wanted.get() or loc is None or not line or not loc.file.isprintable():
        return line
    return f"{line}  {remark}@line {loc.file}:{loc.line}"


def unmarked(text: str) -> list[tuple[str, Place | None]]:
    """The lines of a text without their marks, and the place of each."""
    lines: list[tuple[str, Place | None]] = []
    for line in text.splitlines():
        mark = _MARK.search(line)
        place = (mark[1], int(mark[2])) if mark else None
        lines.append((line[: mark.start()] if mark else line, place))
    return lines


def directed(text: str) -> str:
    """A marked text of C that says by `#line` for which line of the source each of its lines is.

    What has no mark, such as the end of a block, is for the line of what stands above it.
    """
    lines: list[str] = []
    here: Place | None = None
    for line, place in unmarked(text):
        here = place or here
        if here is not None:
            file = here[0].replace("\\", "/").replace('"', "'")
            lines.append(f'#line {here[1]} "{file}"')
        lines.append(line)
    return "\n".join(lines) + "\n"


def unmarked_assembly(text: str) -> list[tuple[str, Place | None]]:
    """The same of assembly, whose `.file` and `.loc` say of all that follows for which lines it is."""
    files: dict[str, str] = {}
    place: Place | None = None
    lines: list[tuple[str, Place | None]] = []
    for line in text.splitlines():
        if (file := _FILE.match(line)) is not None:
            folder, name = (file[2], file[3]) if file[3] else ("", file[2])
            files[file[1]] = posixpath.join(unquote(folder), unquote(name))
        elif (loc := _LOC.match(line)) is not None:
            place = (files[loc[1]], int(loc[2])) if loc[1] in files and int(loc[2]) else None
        else:
            place = None if line.strip() == ".cfi_startproc" else place
            lines.append((line, place))
    return lines
