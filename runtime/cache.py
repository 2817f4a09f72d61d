"""The cache on disk: one folder an entry, named by its key, whole or not there.

An entry is written in a staging folder, synced and renamed, so that another process sees all of it or
nothing. Its index lists every file with size and SHA-256; an entry that differs from its index in any
way is refused, reported and built again. Under the root:

    v1/entries/3f/3f0c...e1/   index.json, manifest.json and the files
    v1/staging/                being written, or on the way out
    v1/locks/                  who builds which key
    v1/tended                  when the size was last looked at

Now and then whoever writes deletes the entries that were used least recently, until the others fit into
`max_bytes`, and what processes that died left in the staging folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.entry import (
    CorruptEntryError,
    Entry,
    is_key,
    read_entry,
    sync_folder,
    write_entry,
)
from dslc.runtime.lock import locked
from dslc.runtime.ownership import refuse_foreign

_STALE_SECONDS = 3600.0  # a staging folder of that age was left by a process that died
_TENDED_SECONDS = 600.0  # how long nobody looks at the size, unless
_TENDED_BYTES = 1 << 26  # this process has written so many
_ATTEMPTS = 5


class CacheWarning(UserWarning):
    """An entry of the cache was refused."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry as `ls` shows it: bytes on disk, and when it was last used (seconds of the epoch)."""

    key: str
    size: int
    used: float
    path: Path


class Shared(Protocol):
    """A second level that many machines share; it never fails, it notes."""

    def get(
        self, key: str, note: Callable[[str], None]
    ) -> tuple[Mapping[str, bytes], Mapping[str, Any]] | None:
        """Files and manifest of an entry, every byte checked; None where there is none."""

    def put(
        self,
        key: str,
        files: Mapping[str, bytes],
        manifest: Mapping[str, Any],
        note: Callable[[str], None],
    ) -> None:
        """Store an entry for the others."""


def _warn(note: str) -> None:
    warnings.warn(note, CacheWarning, stacklevel=4)


class Cache:
    """A store of files by content key under `root`, safe among any number of processes and threads.

    What is missing is looked for in `shared`, and what is built is given to it. `note` is told of
    refused entries; by default it warns. A key is a SHA-256 in hex. What the cache holds is loaded and
    run, so every folder down to the entry must belong to the user alone (DSL0820). Of entries beyond
    `max_bytes` those that were used least recently go; None keeps all.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        note: Callable[[str], None] = _warn,
        shared: Shared | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self.root = Path(root)
        self.max_bytes = max_bytes
        self._written = 0
        self._note = note
        self._shared = shared
        self._version = self.root / "v1"
        self._entries = self._version / "entries"
        self._staging = self._version / "staging"
        self._locks = self._version / "locks"

    def get(self, key: str) -> Entry | None:
        """The entry, every byte of it checked; None where there is none or it was refused."""
        return self._get(key, self._note)

    def _get(self, key: str, note: Callable[[str], None]) -> Entry | None:
        path = self._path(key)
        try:
            refuse_foreign(self._version, self._entries, path.parent)
            entry = read_entry(path, key)
        except FileNotFoundError:
            return None
        except (CorruptEntryError, OSError) as problem:
            note(f"cache entry {key[:12]} is not used: {problem}")
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of last use, for prune
        return entry

    def put(self, key: str, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> Entry:
        """Store an entry and give what is stored: where another process was first, its entry.

        DSL0821 where the folder cannot be written.
        """
        path = self._path(key)
        with self._writing():
            entry = self._stored(path, key, files, manifest)
        with contextlib.suppress(OSError, DiagnosticError):  # what is built counts, not its keeping
            self._tend(sum(map(len, files.values())))
        return entry

    def _stored(
        self, path: Path, key: str, files: Mapping[str, bytes], manifest: Mapping[str, Any]
    ) -> Entry:
        for _ in range(_ATTEMPTS):
            self._publish(path, key, files, manifest)
            with contextlib.suppress(FileNotFoundError):  # cleared at this very moment
                return read_entry(path, key)
        raise OSError(errno.EBUSY, "other processes keep removing the entry")

    def fetch(
        self, key: str, build: Callable[[], tuple[Mapping[str, bytes], Mapping[str, Any]]]
    ) -> Entry:
        """The entry; where it is missing, one process at a time makes it: `build` gives put's last two
        arguments.
        """
        if entry := self.get(key):
            return entry
        with self._writing():
            self._prepare()
        with locked(self._locks / key):
            # Another process may have made it meanwhile; what was refused was noted above.
            return (
                self._get(key, lambda note: None)
                or self._from_shared(key)
                or self._made(key, *build())
            )

    def _from_shared(self, key: str) -> Entry | None:
        """The entry that another machine has made; None where there is none, or it was refused."""
        entry = self._shared.get(key, self._note) if self._shared is not None else None
        return None if entry is None else self.put(key, *entry)

    def _made(self, key: str, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> Entry:
        entry = self.put(key, files, manifest)
        if self._shared is not None:
            self._shared.put(key, entry.files, entry.manifest, self._note)
        return entry

    def remove(self, key: str) -> bool:
        """Delete an entry; whether there was one."""
        path = self._path(key)
        with self._writing():
            return self._discard(path)

    def ls(self) -> list[Listed]:
        """Every entry, the one used last first; contents are not checked."""
        listed = []
        for path in self._paths():
            with contextlib.suppress(OSError):  # removed meanwhile
                size = sum(f.lstat().st_size for f in path.iterdir()) if path.is_dir() else 0
                listed.append(Listed(path.name, size, path.lstat().st_mtime, path))
        return sorted(listed, key=lambda e: e.used, reverse=True)

    def verify(self) -> dict[str, str]:
        """Check every byte of every entry: by key, what is wrong with those that would be refused."""
        problems = {}
        for path in self._paths():
            try:
                read_entry(path, path.name)
            except FileNotFoundError:
                continue  # removed meanwhile
            except (CorruptEntryError, OSError) as problem:
                problems[path.name] = str(problem)
        return problems

    def prune(
        self, *, max_bytes: int | None = None, older_than: float | None = None
    ) -> list[Listed]:
        """Delete entries not used for `older_than` seconds, then the least recently used ones until
        all together have at most `max_bytes`; gives what was deleted.
        """
        removed, total, now = [], 0, time.time()
        for entry in self.ls():
            total += entry.size
            old = older_than is not None and now - entry.used > older_than
            if old or (max_bytes is not None and total > max_bytes):
                total -= entry.size
                with self._writing():
                    if self._discard(entry.path):
                        removed.append(entry)
        self._sweep()
        return removed

    def clear(self) -> int:
        """Delete every entry; how many there were."""
        with self._writing():
            count = sum(self._discard(path) for path in list(self._paths()))
        self._sweep()
        return count

    def _path(self, key: str) -> Path:
        if not is_key(key):
            raise error("DSL0822", f"{key!r} is not a key of the cache: 64 hexadecimal digits")
        return self._entries / key[:2] / key

    def _paths(self) -> Iterator[Path]:
        for path in sorted(self._entries.glob("*/*")):
            if is_key(path.name):
                yield path

    def _prepare(self) -> None:
        for folder in (self.root, self._version, self._entries, self._staging, self._locks):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_foreign(self._version, self._entries, self._staging, self._locks)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, CorruptEntryError) as problem:
            reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
            raise error(
                "DSL0821",
                f"the cache {self.root} cannot be written: {reason}",
                hint="set DSLC_CACHE_DIR to another folder",
            ) from None

    def _publish(
        self, path: Path, key: str, files: Mapping[str, bytes], manifest: Mapping[str, Any]
    ) -> None:
        """Write, then rename into place; a good entry that is there already stays."""
        self._prepare()
        path.parent.mkdir(mode=0o700, exist_ok=True)
        refuse_foreign(path.parent)
        stage = self._staging / uuid.uuid4().hex
        stage.mkdir(mode=0o700)
        try:
            write_entry(stage, key, files, manifest)
            while not _rename(stage, path):
                with locked(self._locks / "replace"):
                    if _is_good(path, key):
                        return
                    self._discard(path)
            sync_folder(path.parent)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _discard(self, path: Path) -> bool:
        """Take an entry out in one step, then delete it."""
        out = self._staging / uuid.uuid4().hex
        try:
            path.rename(out)
        except FileNotFoundError:
            return False
        _delete(out)
        return True

    def _tend(self, written: int) -> None:
        """Make the cache fit, unless somebody did a short while ago."""
        self._written += written
        marker = self._version / "tended"
        with contextlib.suppress(FileNotFoundError):
            fresh = time.time() - marker.stat().st_mtime < _TENDED_SECONDS
            if fresh and self._written < _TENDED_BYTES:
                return
        marker.touch(mode=0o600)
        self._written = 0
        self.prune(max_bytes=self.max_bytes)

    def _sweep(self) -> None:
        """Delete what processes that died left in the staging folder."""
        if not self._staging.is_dir():
            return
        for path in self._staging.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - path.lstat().st_mtime > _STALE_SECONDS:
                    _delete(path)


def _rename(stage: Path, path: Path) -> bool:
    """Rename a folder into place; False where something is there."""
    try:
        stage.rename(path)
    except OSError as problem:
        if problem.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            return False
        raise
    return True


def _is_good(path: Path, key: str) -> bool:
    try:
        read_entry(path, key)
    except (CorruptEntryError, FileNotFoundError):
        return False
    return True


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
