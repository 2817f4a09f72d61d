"""Reading a source file: its size and its encoding are checked before anything else."""

from __future__ import annotations

from pathlib import Path

from dslc.compiler.diagnostics import DiagnosticError, Loc, error

MAX_SOURCE = 16 << 20  # bytes


def read_source(path: str | Path, *, limit: int = MAX_SOURCE) -> str:
    """The text of a UTF-8 source file; DSL0001, DSL0002 or DSL0003 where that cannot be had."""
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error(
            "DSL0003", f"cannot read `{file}`: {reason}", hint=_read_hint(failure)
        ) from None
    except ValueError as failure:  # a NUL in the path
        raise error("DSL0003", f"cannot read {file!r}: {failure}") from None
    if len(data) > limit:
        raise too_large(file, limit)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as failure:
        raise _not_utf8(data, failure.start, file) from None


def check_size(length: int, file: str) -> None:
    """DSL0001 for a text of more than MAX_SOURCE characters."""
    if length > MAX_SOURCE:
        raise too_large(file, MAX_SOURCE)


def too_large(file: str, limit: int) -> DiagnosticError:
    """The error for a source larger than `limit` bytes."""
    size = f"{limit >> 20} MB" if limit >> 20 else f"{limit} bytes"
    return error(
        "DSL0001",
        f"this source is larger than {size}",
        Loc(file, 1, 1, 1, 1),
        hint="is this a program? weights and other data belong in files of their own",
    )


def _not_utf8(data: bytes, start: int, file: str) -> DiagnosticError:
    before = data[:start]
    line = before.count(b"\n") + 1
    text = before[before.rfind(b"\n") + 1 :].decode("utf-8")
    col = len(text) + 1
    return error(
        "DSL0002",
        f"byte 0x{data[start]:02x} is not UTF-8",
        Loc(file, line, col, line, col + 1),
        hint="save the file as UTF-8",
    )


def _read_hint(failure: OSError) -> str | None:
    if isinstance(failure, IsADirectoryError):
        return "this is a folder: name a file in it"
    return None
