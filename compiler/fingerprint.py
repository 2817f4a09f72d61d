"""The compiler's own hash: a cache key that covers it never serves what another version made."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path

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
    return digest({name: path.read_bytes() for room in _ROOMS for name, path in _sources(room)})


def _sources(room: str) -> Iterator[tuple[str, Path]]:
    """The files of one package, named by their place in it."""
    spec = importlib.util.find_spec(room)
    for folder in spec.submodule_search_locations or () if spec else ():
        root = Path(folder)
        for path in _walk(root, _ROOMS_WITHIN if room == "dslc" else frozenset()):
            yield f"{room}/{path.relative_to(root).as_posix()}", path


def _walk(folder: Path, skipped: frozenset[str] = frozenset()) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in skipped or path.name == "__pycache__" or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _walk(path)
        elif path.suffix != ".pyc":
            yield path
