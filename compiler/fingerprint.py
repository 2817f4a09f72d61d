"""The compiler's own hash: a cache key that covers it never serves what another version made."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
from collections.abc import Iterator, Mapping

_ROOMS = ("dslc", "dslc.compiler", "dslc.codegen")
# In a wheel these lie within dslc; what a compilation depends on is walked under its own name.
_ROOMS_WITHIN = frozenset({"compiler", "codegen", "runtime"})


def digest(parts: Mapping[str, str | bytes]) -> str:
    """The SHA-256 (hex) of named parts, whatever their order; no two mappings share their bytes."""
    sha = hashlib.sha256()
    for name, part in sorted(parts.items()):
        content = part.encode() if isinstance(part, str) else part
        label = f"{len(name.encode())} {name} {len(content)} "
        sha.update(label.encode())
        sha.update(content)
    return sha.hexdigest()


@functools.cache
def compiler_fingerprint() -> str:
    """The SHA-256 (hex) of every source file of the front-ends, the compiler and the generators.

    Read once a process. The same sources give the same hash however they are installed.
    """
    return digest({name: _read(path) for room in _ROOMS for name, path in _sources(room)})


def _sources(room: str) -> Iterator[tuple[str, str]]:
    """The files of one package, named by their place in it."""
    spec = importlib.util.find_spec(room)
    for root in spec.submodule_search_locations or () if spec else ():
        skipped = _ROOMS_WITHIN if room == "dslc" else frozenset()
        yield from _walk(root, room, skipped)


def _walk(
    folder: str, name: str, skipped: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    """What `Path` would take twice as long for: a process begins with it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            own = entry.name
            if own in skipped or own == "__pycache__" or own.startswith("."):
                continue
            if entry.is_dir():
                yield from _walk(entry.path, f"{name}/{own}")
            elif not own.endswith(".pyc"):
                yield f"{name}/{own}", entry.path


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()
