"""One entry of the cache on disk: written once, and read only if it is what was written."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dslc.compiler.artifact import INDEX, MANIFEST, check_file_name, file_record
from dslc.runtime.ownership import is_own

FORMAT = 1
_KEY = re.compile(r"[0-9a-f]{64}\Z")
_LARGEST_INDEX = 1 << 24


class CorruptEntryError(Exception):
    """The entry is not what was written; the text says how."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked entry: its manifest, its files' contents, and the folder where they lie."""

    key: str
    path: Path
    manifest: dict[str, Any]
    files: dict[str, bytes]


def is_key(key: str) -> bool:
    """Whether it is a key: a SHA-256 in hex."""
    return _KEY.match(key) is not None


def write_entry(
    folder: Path, key: str, files: Mapping[str, bytes], manifest: Mapping[str, Any]
) -> None:
    """Write an entry into an empty folder and sync it to the disk."""
    for name in files:
        check_file_name(name)
    contents = {**files, MANIFEST: _canonical(manifest)}
    records = {name: file_record(content) for name, content in contents.items()}
    contents[INDEX] = _canonical({"format": FORMAT, "key": key, "files": records})
    for name, content in contents.items():
        _write(folder / name, content)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Have the disk know the folder's names."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read_entry(path: Path, key: str) -> Entry:
    """Read and check every byte of an entry, and that folder and files are the user's alone.

    CorruptEntryError where it differs from its index, FileNotFoundError where there is none. Owner and
    mode are those of what was opened, so that nothing can be put in its place between check and use.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENOTDIR):
            raise CorruptEntryError("it is not a folder") from None
        raise
    try:
        files = _checked(folder, key)
    except (CorruptEntryError, FileNotFoundError):
        # While we read, another process may have removed or replaced the entry.
        if os.stat(path, follow_symlinks=False).st_ino != os.fstat(folder).st_ino:
            raise FileNotFoundError(path) from None
        raise
    finally:
        os.close(folder)
    return Entry(key, path, _parse(MANIFEST, files.pop(MANIFEST)), files)


def _canonical(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _checked(folder: int, key: str) -> dict[str, bytes]:
    if not is_own(os.fstat(folder)):
        raise CorruptEntryError("others can write its folder")
    names = set(os.listdir(folder))
    if INDEX not in names:
        raise CorruptEntryError(f"{INDEX} is missing")
    index = _parse(INDEX, _read(folder, INDEX, _LARGEST_INDEX))
    records = index.get("files")
    if index.get("format") != FORMAT or index.get("key") != key or not isinstance(records, dict):
        raise CorruptEntryError(f"{INDEX} is of another entry or format")
    for name in sorted({*records, MANIFEST} ^ (names - {INDEX})):
        raise CorruptEntryError(f"{name} is {'extra' if name in names else 'missing'}")
    return {name: _read_checked(folder, name, record) for name, record in records.items()}


def _read_checked(folder: int, name: str, record: Any) -> bytes:
    size = record.get("size") if isinstance(record, dict) else None
    content = _read(folder, name, size if isinstance(size, int) and size > 0 else 0)
    if file_record(content) != record:
        raise CorruptEntryError(f"{name} has other bytes")
    return content


def _read(folder: int, name: str, limit: int) -> bytes:
    """At most a byte more than `limit`, which is any number: memory is asked for what is there."""
    # O_NONBLOCK: a pipe must not make us wait.
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise CorruptEntryError(f"{name} cannot be read: {problem.strerror}") from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or not is_own(status):
        os.close(fd)
        plain = stat.S_ISREG(status.st_mode)
        raise CorruptEntryError(f"others can write {name}" if plain else f"{name} is no plain file")
    with open(fd, "rb") as file:
        return file.read(min(limit, status.st_size) + 1)


def _parse(name: str, content: bytes) -> dict[str, Any]:
    try:
        data = json.loads(content)
        # One text a value: a byte that JSON would not mind is seen as well.
        if isinstance(data, dict) and _canonical(data) == content:
            return data
    except (ValueError, RecursionError):
        pass
    raise CorruptEntryError(f"{name} is not as it was written")
