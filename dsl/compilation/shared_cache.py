"""A compile cache that many machines share: any URL of fsspec, one object an entry.

It stands behind the cache on disk: what is missing there is fetched, checked and kept; what is built is
given to the others. A store that cannot be used or reached is noted once and then left alone: a build
never fails for it. Who can write the store decides what others run (docs/security.md).
"""

from __future__ import annotations

import functools
import importlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from dslc.environment import shared_cache_is_written, shared_cache_secret, shared_cache_url
from dslc.runtime.entry import CorruptEntryError
from dslc.runtime.sealed import seal, unseal

_LARGEST = 1 << 30  # bytes of an entry
Note = Callable[[str], None]


class SharedCache:
    """Entries beneath `url`, such as a folder, `s3://bucket/kernels` or `https://host/kernels`.

    With a `secret` entries are sealed, and those of others refused.
    """

    def __init__(self, url: str, *, write: bool = True, secret: bytes = b"") -> None:
        self.url = url
        self._secret = secret
        self._read, self._write = True, write
        self._trouble = ""  # what there is to be noted at the first use
        try:
            self._files, self._root = _file_system(url)
        except _UnusableError as problem:
            self._read = self._write = False
            self._trouble = f"the shared cache {url} is left alone: {problem}"
        else:
            if url.startswith("http:") and not secret:
                self._trouble = (
                    f"the shared cache {url} is read over http and without "
                    "DSLC_SHARED_CACHE_SECRET: whoever is on the way decides what is run"
                )

    def get(self, key: str, note: Note) -> tuple[Mapping[str, bytes], Mapping[str, Any]] | None:
        """Files and manifest of an entry, every byte checked; None where there is none."""
        self._tell(note)
        if not self._read:
            return None
        try:
            content = self._files.cat_file(self._path(key), end=_LARGEST + 1)
        except FileNotFoundError:
            return None
        except Exception as failure:  # whatever the store's library raises
            self._read = self._write = False
            note(f"the shared cache {self.url} is left alone: {_said(failure)}")
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
        self._tell(note)
        if not self._write:
            return
        path = self._path(key)
        stage = f"{path}.{uuid.uuid4().hex}"
        try:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            # An object appears whole in a store, a file in a folder once it is moved.
            self._files.pipe_file(stage, seal(key, files, manifest, self._secret))
            self._files.mv(stage, path)
        except Exception as failure:
            self._write = False
            note(f"the shared cache {self.url} is only read from now on: {_said(failure)}")

    def _path(self, key: str) -> str:
        return f"{self._root}/v1/{key[:2]}/{key}"

    def _tell(self, note: Note) -> None:
        if self._trouble:
            note(self._trouble)
            self._trouble = ""


class _UnusableError(Exception):
    """A store that cannot be used here; the text says why."""


def _said(failure: Exception) -> str:
    return str(failure) or type(failure).__name__


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
        raise _UnusableError("it needs fsspec: pip install 'dslc[shared]'") from None
    try:
        files, root = core.url_to_fs(url)
    except (ValueError, ImportError, OSError) as problem:
        raise _UnusableError(str(problem)) from None
    return files, str(root).rstrip("/")
