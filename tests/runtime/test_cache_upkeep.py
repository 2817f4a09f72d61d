"""The cache in hand: whose its folders are, how large it grows, and what dead processes left there."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cache import Cache

KEY = sha256(b"a key").hexdigest()
OTHER = sha256(b"another").hexdigest()
FILES = {"kernel.ir": b"kernel k() {}\n", "kernel.bin": bytes(range(256)) * 8, "empty": b""}
INFO = {"name": "k"}


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, notes: list[str]) -> Cache:
    return Cache(tmp_path / "cache", notes.append)


@pytest.mark.parametrize("folder", ["entries", f"entries/{OTHER[:2]}", "staging", "locks"])
def test_a_folder_below_that_others_can_write_is_refused(cache: Cache, folder: str) -> None:
    cache.put(KEY, FILES, INFO)
    (cache.root / "v1" / folder).mkdir(exist_ok=True)
    (cache.root / "v1" / folder).chmod(0o777)
    with pytest.raises(DiagnosticError) as caught:
        cache.put(OTHER, FILES, INFO)
    assert caught.value.diagnostics[0].code == "DSL0820"


@pytest.mark.parametrize("folder", ["entries", f"entries/{KEY[:2]}"])
def test_nothing_is_read_below_a_folder_that_others_can_write(cache: Cache, folder: str) -> None:
    cache.put(KEY, FILES, INFO)
    (cache.root / "v1" / folder).chmod(0o777)
    with pytest.raises(DiagnosticError) as caught:
        cache.get(KEY)
    assert caught.value.diagnostics[0].code == "DSL0820"


@pytest.mark.parametrize("name", ["", *FILES, "manifest.json", "index.json"])
def test_what_others_can_write_of_an_entry_is_refused_and_rebuilt(
    cache: Cache, notes: list[str], name: str
) -> None:
    path = cache.put(KEY, FILES, INFO).path
    (path / name).chmod(0o770)
    assert cache.get(KEY) is None
    assert len(notes) == 1
    assert "others can write" in notes[0]
    assert cache.fetch(KEY, lambda: (FILES, INFO)).files == FILES
    assert cache.verify() == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who may give a file away")
@pytest.mark.parametrize("name", ["", "kernel.bin"])
def test_what_another_user_owns_is_refused(cache: Cache, notes: list[str], name: str) -> None:
    """A planted entry: every hash fits, but somebody else wrote it."""
    os.chown(cache.put(KEY, FILES, INFO).path / name, 12345, -1)
    assert cache.get(KEY) is None
    assert len(notes) == 1


def size_of(cache: Cache) -> int:
    return sum(entry.size for entry in cache.ls())


def fill(cache: Cache, count: int) -> list[str]:
    """Entries of some 10 KB, each used a minute after the one before."""
    keys = [sha256(b"%d" % i).hexdigest() for i in range(count)]
    for i, key in enumerate(keys):
        path = cache.put(key, {"kernel.bin": bytes(10_000)}, INFO).path
        os.utime(path, (time.time() - 60 * (count - i),) * 2)
    return keys


def test_a_cache_keeps_to_its_size(cache: Cache) -> None:
    keys = fill(cache, 10)
    small = Cache(cache.root, max_bytes=50_000)
    os.utime(cache.root / "v1/tended", (0, 0))
    small.put(OTHER, FILES, INFO)
    assert 30_000 < size_of(small) <= 50_000
    left = {entry.key for entry in small.ls()}
    assert OTHER in left
    assert left - {OTHER} == set(keys[-len(left) + 1 :])  # those that were used last


def test_the_size_is_looked_at_now_and_then(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(cache, 10)
    small = Cache(cache.root, max_bytes=50_000)
    small.put(OTHER, FILES, INFO)
    assert size_of(small) > 100_000  # somebody did a moment ago
    monkeypatch.setattr("dslc.runtime.cache._TENDED_BYTES", 1_000)
    small.put(KEY, FILES, INFO)
    assert size_of(small) <= 50_000  # this process has written a lot since


def test_an_entry_larger_than_the_cache_is_built_all_the_same(cache: Cache) -> None:
    small = Cache(cache.root, max_bytes=10)
    assert small.put(KEY, FILES, INFO).files == FILES
    assert small.fetch(OTHER, lambda: (FILES, INFO)).files == FILES


def test_writing_sweeps_what_dead_processes_left(cache: Cache) -> None:
    cache.put(KEY, FILES, INFO)
    stale = cache.root / "v1/staging/stale"
    stale.mkdir()
    os.utime(stale, (0, 0))
    os.utime(cache.root / "v1/tended", (0, 0))
    cache.put(OTHER, FILES, INFO)
    assert not stale.exists()
