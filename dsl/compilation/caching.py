"""The compile cache as the compiler uses it: its folder, its cache keys, and what is kept.

A cache key covers the elaborated program with its source locations (so the source and all it
imports), the dims, the tune choices, the target, and the compiler's own sources.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.fingerprint import digest
from dslc.environment import cache_is_on, cache_max_bytes
from dslc.runtime.cache import Cache, CacheWarning

CacheChoice: TypeAlias = "bool | str | os.PathLike[str] | None"
_TROUBLE = frozenset({"DSL0801", "DSL0802", "DSL0803", "DSL0820", "DSL0821"})


def cache_folder() -> Path:
    """Where compiled kernels are kept: `DSLC_CACHE_DIR`, else the user's cache folder."""
    folder = os.environ.get("DSLC_CACHE_DIR")
    if folder:
        return Path(folder)
    import platformdirs

    return Path(platformdirs.user_cache_dir("dslc"))


def open_cache(choice: CacheChoice = None) -> Cache | None:
    """The cache in a folder, or in the user's own for True; None is True unless `DSLC_CACHE=off`."""
    if choice is None:
        choice = cache_is_on()
    if choice is False:
        return None
    from dslc.compilation.shared_cache import shared_cache

    folder = cache_folder() if choice is True else choice
    return Cache(folder, shared=shared_cache(), max_bytes=cache_max_bytes())


def fetch(cache: Cache, hashes: Hashes, compile_now: Callable[[], Artifact]) -> Artifact:
    """From the cache, or into it; a cache that cannot be used is a warning, never the end."""
    try:
        entry = cache.fetch(_key(hashes), lambda: _cached_form(compile_now()))
        return Artifact.from_manifest(entry.manifest, entry.files)
    except DiagnosticError as failure:
        if not all(d.code in _TROUBLE for d in failure.diagnostics):
            raise
        warnings.warn(f"compiled without the cache: {failure.summary}", CacheWarning, stacklevel=2)
        return compile_now()


def keep(cache: Cache, artifact: Artifact) -> None:
    """Put an artifact that was compiled elsewhere where compiling it here would look for it."""
    with contextlib.suppress(DiagnosticError):  # a cache that cannot be used is never the end
        cache.fetch(_key(artifact.hashes), lambda: _cached_form(artifact))


def cached_files(
    cache: Cache | None, artifact: Artifact, what: str, make: Callable[[], dict[str, bytes]]
) -> Mapping[str, bytes]:
    """Further files that follow from an artifact, such as its PTX: from the cache, or into it."""
    if cache is None:
        return make()
    key = digest({"artifact": _key(artifact.hashes), "what": what})
    manifest = {"name": artifact.name, "target": artifact.target, "what": what}
    try:
        return cache.fetch(key, lambda: (make(), manifest)).files
    except DiagnosticError as failure:
        if not all(d.code in _TROUBLE for d in failure.diagnostics):
            raise
        return make()


def _key(hashes: Hashes) -> str:
    return digest(dataclasses.asdict(hashes))


def _cached_form(artifact: Artifact) -> tuple[dict[str, bytes], dict[str, Any]]:
    return artifact.files, artifact.to_manifest()
