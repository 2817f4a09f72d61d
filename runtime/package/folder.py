"""A package's folder, read without trust.

Every name is looked up beneath the folder's own descriptor and never through a link, so that nothing
outside of it is read, whoever changes it meanwhile. A file's bytes are hashed once they are in memory,
and it is these that are given out.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.package.index import (
    DEEPEST,
    INDEX,
    LARGEST_INDEX,
    MANIFEST,
    MOST_FILES,
    SPECIALIZATIONS,
    IndexedKernel,
    IndexedSpecialization,
    manifest_path,
    parse_index,
)
from dslc.runtime.package.matching import OPTIONS

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a pipe must not make us wait.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_AGAIN = "copy or build the package again"
KEPT = "_"
"""Stands behind the names of Python sources in a wheel: pip would compile them, and add files."""


class PackageFolder:
    """A package on disk: `index` is what it says of itself, `text` its manifest as it stands.

    `digest` is the package's name by content.

    DSL0830 where the folder is no package, DSL0801 to DSL0803 where its manifest is not right.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with self._open() as folder:
            text = _read(folder, INDEX, LARGEST_INDEX)
        if text is None or len(text) > LARGEST_INDEX:
            raise _no_package(self.path, f"it has no {INDEX}" if text is None else "it is too long")
        self.text = text
        self.digest, self.index = parse_index(text)

    def check(self) -> None:
        """Read every file; DSL0803 names the first that is missing, extra, a link, or was changed."""
        for problem in self.problems():
            raise error("DSL0803", f"{self.path}: {problem}", hint=_AGAIN)

    def problems(self) -> Iterator[str]:
        """What is wrong, a line a file; nothing where the package is as it was written."""
        files = self.index.files
        with self._open() as folder:
            names: set[str] = set()
            for path, what in _walk(folder):  # OSError: the folder changes under our hands
                listed = path.removesuffix(KEPT) if path not in files else path
                if what is not None:
                    yield f"{path} is {what}"
                elif listed in names:
                    yield f"{listed} is there twice"
                elif path != INDEX and listed not in files:
                    yield f"{path} is not listed in {INDEX}"
                names.add(listed if listed in files else path)
                if len(names) > MOST_FILES:
                    yield f"it has more than {MOST_FILES} files"
                    return
            for path in sorted(files.keys() - names):
                yield f"{path} is missing"
            for path in sorted(files.keys() & names):
                try:
                    self._content(folder, path)
                except DiagnosticError as wrong:
                    yield wrong.diagnostics[0].message

    def read(self, path: str) -> bytes:
        """A listed file's bytes, once they have the hash that the manifest says; DSL0803 else."""
        with self._open() as folder:
            return self._content(folder, path)

    def artifact(self, kernel: IndexedKernel, made: IndexedSpecialization) -> Artifact:
        """The artifact of a kernel's specialisation; DSL0801 to DSL0803 where it is not right."""
        prefix = f"{SPECIALIZATIONS}/{made.key}/"
        names = [p.removeprefix(prefix) for p in self.index.files if p.startswith(prefix)]
        with self._open() as folder:
            manifest = _manifest(self._content(folder, manifest_path(made.key)), made.key)
            files = {n: self._content(folder, prefix + n) for n in names if n != MANIFEST}
        artifact = Artifact.from_manifest(manifest, files)
        if not _describes(kernel, made, artifact):
            raise error("DSL0802", f"{INDEX} does not describe the artifact of {artifact.name}")
        return artifact

    def _content(self, folder: int, path: str) -> bytes:
        record = self.index.files.get(path)
        if record is None:
            raise error("DSL0803", f"{path} is not in the package", hint=_AGAIN)
        content = _read(folder, path, record.size)
        if content is None and path.endswith(".py"):
            content = _read(folder, path + KEPT, record.size)
        if content is None:
            raise error("DSL0803", f"{path} is missing, or no plain file", hint=_AGAIN)
        if len(content) != record.size or hashlib.sha256(content).hexdigest() != record.sha256:
            raise error("DSL0803", f"{path} has other bytes than were written", hint=_AGAIN)
        return content

    @contextmanager
    def _open(self) -> Iterator[int]:
        try:
            # The folder's own name may be a link: that is the caller's affair.
            folder = os.open(self.path, _FOLDER & ~os.O_NOFOLLOW)
        except OSError as failure:
            raise _no_package(self.path, failure.strerror or str(failure)) from None
        try:
            yield folder
        finally:
            os.close(folder)


def _describes(kernel: IndexedKernel, made: IndexedSpecialization, artifact: Artifact) -> bool:
    """Whether an artifact is called as the index says: what launches it relies on both."""
    signature = artifact.signature
    said = [(p.name, p.dtype, p.mode, _rank(p.dims)) for p in kernel.parameters]
    described = [(p.name, p.dtype, p.mode, _rank(p.dims)) for p in signature.params]
    return (
        said == described
        and (artifact.target, signature.fixed) == (made.target, made.fixed)
        and signature.config == made.config
        and {*signature.fixed, *signature.dims} <= {*kernel.dims}
        and signature.config.keys() - {*OPTIONS} == kernel.tunes.keys() - {*OPTIONS}
    )


def _rank(dims: Sequence[str] | None) -> int | None:
    return None if dims is None else len(dims)


def _no_package(path: Path, why: str) -> DiagnosticError:
    return error(
        "DSL0830", f"{path} is no package: {why}", hint="dslc build and dslc package make one"
    )


def _manifest(text: bytes, key: str) -> dict[str, object]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise error("DSL0802", f"the manifest of {key[:12]} is no object of JSON")
    return data


def _read(folder: int, path: str, limit: int) -> bytes | None:
    """At most a byte more than `limit` of a plain file beneath a folder; None where it is none."""
    *above, name = path.split("/")
    opened: list[int] = []
    try:
        for part in above:
            opened.append(os.open(part, _FOLDER, dir_fd=opened[-1] if opened else folder))
        file = os.open(name, _FILE, dir_fd=opened[-1] if opened else folder)
        opened.append(file)
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(file, "rb", closefd=False) as stream:
            return stream.read(min(limit, status.st_size) + 1)
    except OSError as failure:
        if failure.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EACCES):
            return None
        raise
    finally:
        for number in opened:
            os.close(number)


def _walk(folder: int, above: str = "") -> Iterator[tuple[str, str | None]]:
    """Every path beneath a folder, with what it is where that is no plain file."""
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        path = above + entry.name
        if entry.is_symlink():
            yield path, "a link"
        elif entry.is_dir(follow_symlinks=False) and path.count("/") >= DEEPEST:
            yield path, "a folder too deep"
        elif entry.is_dir(follow_symlinks=False):
            inner = os.open(entry.name, _FOLDER, dir_fd=folder)
            try:
                yield from _walk(inner, f"{path}/")
            finally:
                os.close(inner)
        else:
            plain = entry.is_file(follow_symlinks=False)
            yield path, None if plain else "no plain file"
