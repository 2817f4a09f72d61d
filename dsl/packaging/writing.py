"""The tree of a package: the same entries give the same bytes, whoever writes them, where and when."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.packaging.entries import Entry, by_kernel
from dslc.runtime.entry import sync_folder
from dslc.runtime.lock import locked
from dslc.runtime.package.index import (
    CONVENTION,
    FORMAT,
    INDEX,
    MANIFEST,
    SPECIALIZATIONS,
    FileRecord,
    Index,
    IndexedSpecialization,
    Origins,
    index_text,
    parse_index,
)

_FORMS = {
    ".cubin": "cubin",
    ".ptx": "ptx",
    ".so": "so",
    ".dylib": "dylib",
    ".ir": "ir",
    ".py": "nki",
    ".hsaco": "hsaco",
    ".mlir": "aie-mlir",
}

Files = dict[str, bytes]


def package_files(
    name: str,
    version: str,
    entries: Sequence[Entry],
    origins: Origins,
    more: Mapping[str, bytes] | None = None,
) -> Files:
    """Every file of a package by its path, package.json among them; `more` are further ones."""
    files: Files = dict(more or {})
    kernels = []
    for kernel, listed in by_kernel(entries).values():
        indexed: dict[str, IndexedSpecialization] = {}
        for entry in listed:
            key = _add(files, entry.artifact)
            indexed.setdefault(key, _indexed(key, entry))
        kernels.append(replace(kernel, specializations=tuple(indexed.values())))
    targets = tuple(dict.fromkeys(e.artifact.target for e in entries))
    records = {p: FileRecord(len(c), hashlib.sha256(c).hexdigest()) for p, c in files.items()}
    index = Index(
        FORMAT,
        CONVENTION,
        name,
        version,
        targets,
        tuple(kernels),
        origins,
        dict(sorted(records.items())),
    )
    files[INDEX] = index_text(index)
    _check(files[INDEX], index)
    return files


def _add(files: Files, artifact: Artifact) -> str:
    """Put an artifact's files in their place."""
    manifest, key = _manifest(artifact), artifact_key(artifact)
    for name, content in {**artifact.files, MANIFEST: manifest}.items():
        files[f"{SPECIALIZATIONS}/{key}/{name}"] = content
    return key


def artifact_key(artifact: Artifact) -> str:
    """The hash of its manifest, by which its folder is named."""
    return hashlib.sha256(_manifest(artifact)).hexdigest()


def _manifest(artifact: Artifact) -> bytes:
    return json.dumps(artifact.to_manifest(), sort_keys=True, allow_nan=False).encode() + b"\n"


def _indexed(key: str, entry: Entry) -> IndexedSpecialization:
    artifact = entry.artifact
    signature = artifact.signature
    forms = {form for n in artifact.files if (form := _FORMS.get(Path(n).suffix)) is not None}
    return IndexedSpecialization(
        key,
        artifact.target,
        tuple(sorted(forms)),
        dict(signature.fixed),
        dict(signature.config),
        dict(entry.sizes),
        tuple(r.condition for r in signature.requires),
        entry.alignments,
        entry.tuned,
    )


def _check(text: bytes, index: Index) -> None:
    """What was written is read by another reader, msgspec, as strictly, and is the same."""
    frame = msgspec.json.decode(text, type=_Frame)
    assert frame.package == index
    assert parse_index(text) == (frame.digest, index)


class _Frame(msgspec.Struct, forbid_unknown_fields=True):
    digest: str
    package: Index


def write_tree(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a package's folder whole or not at all; an older package there is replaced.

    DSL0831 where `path` is something else, or cannot be written.
    """
    if not path.name:
        text = f"{path} cannot be a package: it is a folder of its own"
        raise error("DSL0831", text, hint="name a new folder")
    stage = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    turn = path.with_name(f".{path.name}.lock")  # of one writer, from its look to its last rename
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(turn):
            if path.exists() and not (path / INDEX).is_file() and not _is_empty_folder(path):
                text = f"{path} exists and is no package"
                raise error("DSL0831", text, hint="name a new folder, or remove it first")
            for name, content in sorted(files.items()):
                file = stage / name
                file.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                with open(descriptor, "wb") as opened:
                    opened.write(content)
            sync_folder(stage)
            _replace(path, stage)
    except OSError as failure:
        raise error("DSL0831", f"{path} cannot be written: {failure.strerror or failure}") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _replace(path: Path, stage: Path) -> None:
    """Put a folder where an older one is, or nothing; the older one stays where that fails."""
    old = stage.with_name(f"{stage.name}.old")
    with suppress(FileNotFoundError):
        path.rename(old)
    try:
        stage.rename(path)
    except OSError:
        with suppress(OSError):
            old.rename(path)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
