"""A compile cache that many machines share: any URL of fsspec, one object an entry.

It stands behind the cache on disk: what is missing there is fetched, checked and kept; what is built is
given to the others. A store that cannot be reached is noted once and then left alone: a build never
fails for it. Who can write the store decides what others run (docs/security.md).
"""

from __future__ import annotations

import functools
import importlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from dslc.compiler.diagnostics import error
from dslc.environment import shared_cache_is_written, shared_cache_secret, shared_cache_url
from dslc.runtime.entry import CorruptEntryError
from dslc.runtime.sealed import seal, unseal

_LARGEST = 1 << 30  # bytes of an entry
Note = Callable[[str], None]


class SharedCache:
    """Entries beneath `url`, such as a folder, `s3://bucket/kernels` or `https://host/kernels`.

    With a `secret` entries are sealed, and those of others refused. DSL0951 without fsspec, DSL0823 for
    a URL that it does not know.
    """

    def __init__(self, url: str, *, write: bool = True, secret: bytes = b"") -> None:
        self.url = url
        self._write, self._secret = write, secret
        self._files, self._root = _file_system(url)
        self._off = False

    def get(self, key: str, note: Note) -> tuple[Mapping[str, bytes], Mapping[str, Any]] | None:
        """Files and manifest of an entry, every byte checked; None where there is none."""
        if self._off:
            return None
        try:
            content = self._files.cat_file(self._path(key), end=_LARGEST + 1)
        except FileNotFoundError:
            return None
        except Exception as failure:  # whatever the store's library raises
            self._leave(failure, note)
            return None
        try:
            return unseal(key, content, self._secret)
        except CorruptEntryError as problem:
            note(f"the entry {key[:12]} of {self.url} is not used: {problem}")
            return None

    def put(
        self, key: str, files: Mapping[str, bytes], manifest: Mapping[str, Any], note: Note
    ) -> None:
        """Store an entry for the others, unless the cache is only read."""
        if self._off or not self._write:
            return
        path = self._path(key)
        stage = f"{path}.{uuid.uuid4().hex}"
        try:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            # An object appears whole in a store, a file in a folder once it is moved.
            self._files.pipe_file(stage, seal(key, files, manifest, self._secret))
            self._files.mv(stage, path)
        except Exception as failure:
            self._leave(failure, note)

    def _path(self, key: str) -> str:
        return f"{self._root}/v1/{key[:2]}/{key}"

    def _leave(self, failure: Exception, note: Note) -> None:
        self._off = True
        note(f"the shared cache {self.url} is left alone: {failure or type(failure).__name__}")


def shared_cache() -> SharedCache | None:
    """The one that the environment names, the same for all caches of the process."""
    url = shared_cache_url()
    if url is None:
        return None
    return _of(url, shared_cache_is_written(), shared_cache_secret())


@functools.lru_cache(maxsize=8)
def _of(url: str, write: bool, secret: bytes) -> SharedCache:
    return SharedCache(url, write=write, secret=secret)


def _file_system(url: str) -> tuple[Any, str]:
    try:
        core = importlib.import_module("fsspec.core")
    except ImportError:
        raise error(
            "DSL0951",
            "a shared cache needs the package fsspec, which is not installed",
            hint="pip install 'dslc[shared]', and the package of the store, such as s3fs",
        ) from None
    try:
        files, root = core.url_to_fs(url)
    except (ValueError, ImportError, OSError) as problem:
        raise error("DSL0823", f"DSLC_SHARED_CACHE={url}: {problem}") from None
    return files, str(root).rstrip("/")
