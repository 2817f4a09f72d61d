"""A second-level cache: filled by one machine, read by another, refused where it is not as written."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dslc.compilation.caching import open_cache
from dslc.compilation.shared_cache import SharedCache
from dslc.compiler.artifact import file_record
from dslc.runtime.cache import Cache
from dslc.runtime.entry import CorruptEntryError
from dslc.runtime.sealed import seal, unseal
from hypothesis import given
from hypothesis import strategies as st

from support.packages import failure

fsspec = pytest.importorskip("fsspec", reason="needs fsspec: pip install 'dslc[shared]'")

KEY = "3f" * 32
FILES = {"a.cubin": b"machine code", "kernel.cu": b"text"}
MANIFEST = {"name": "scale", "format": 1}


def build() -> tuple[dict[str, bytes], dict[str, Any]]:
    return FILES, MANIFEST


def never() -> tuple[dict[str, bytes], dict[str, Any]]:
    raise AssertionError("it was built again")


def sealed_text(manifest: bytes) -> bytes:
    """An entry of KEY, whole but for the text of its manifest."""
    header = {"key": KEY, "files": [["manifest.json", file_record(manifest)]]}
    text = json.dumps(header).encode()
    body = b"dslc entry 1\n" + len(text).to_bytes(8, "little") + text + manifest
    return body + hashlib.sha256(body).digest()


def machine(tmp_path: Path, name: str, note: Callable[[str], None], **options: Any) -> Cache:
    """A cache of its own disk, over a folder that all share."""
    shared = SharedCache(f"file://{tmp_path}/shared", **options)
    return Cache(tmp_path / name, note, shared)


def test_what_one_machine_built_another_takes(tmp_path: Path) -> None:
    notes: list[str] = []
    machine(tmp_path, "first", notes.append).fetch(KEY, build)
    other = machine(tmp_path, "second", notes.append)
    entry = other.fetch(KEY, never)
    assert (entry.files, entry.manifest) == (FILES, MANIFEST)
    assert other.get(KEY) is not None  # kept on its own disk from now on
    assert notes == []
    assert [p.name for p in (tmp_path / "shared").rglob("*") if p.is_file()] == [KEY]


@pytest.mark.parametrize("change", ["flipped", "cut", "empty", "another", "no number"])
def test_what_is_not_as_written_is_noted_and_built(tmp_path: Path, change: str) -> None:
    notes: list[str] = []
    machine(tmp_path, "first", notes.append).fetch(KEY, build)
    (path,) = (p for p in (tmp_path / "shared").rglob("*") if p.is_file())
    whole = path.read_bytes()
    path.write_bytes(
        {
            "flipped": whole[:40] + bytes([whole[40] ^ 1]) + whole[41:],
            "cut": whole[:-1],
            "empty": b"",
            "another": seal("0" * 64, FILES, MANIFEST),
            "no number": sealed_text(b'{"name": 1e999}\n'),
        }[change]
    )
    built: list[int] = []

    def again() -> tuple[dict[str, bytes], dict[str, Any]]:
        built.append(1)
        return build()

    assert machine(tmp_path, "second", notes.append).fetch(KEY, again).files == FILES
    assert built == [1]
    assert len(notes) == 1
    assert KEY[:12] in notes[0]
    assert path.read_bytes() == whole  # mended for the others


def test_without_the_secret_nothing_is_taken(tmp_path: Path) -> None:
    notes: list[str] = []
    machine(tmp_path, "first", notes.append, secret=b"ours").fetch(KEY, build)
    assert (
        machine(tmp_path, "second", notes.append, secret=b"ours").fetch(KEY, never).files == FILES
    )
    (path,) = (p for p in (tmp_path / "shared").rglob("*") if p.is_file())
    path.write_bytes(seal(KEY, {"a.cubin": b"another's code"}, MANIFEST))
    entry = machine(tmp_path, "third", notes.append, secret=b"ours").fetch(KEY, build)
    assert entry.files == FILES
    assert "seal" in notes[0]


def test_one_that_is_only_read_is_not_written(tmp_path: Path) -> None:
    machine(tmp_path, "first", print, write=False).fetch(KEY, build)
    assert not (tmp_path / "shared").exists()


def test_a_store_that_fails_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    calls: list[str] = []
    cache = machine(tmp_path, "first", notes.append)
    files = cache._shared._files  # type: ignore[union-attr]

    def fail(path: str, **_: object) -> bytes:
        calls.append(path)
        raise ConnectionError("nobody answers")

    monkeypatch.setattr(files, "cat_file", fail)
    assert cache.fetch(KEY, build).files == FILES
    assert cache.fetch("ab" * 32, build).files == FILES
    assert len(calls) == 1
    assert len(notes) == 1
    assert "nobody answers" in notes[0]


def test_the_environment_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_SHARED_CACHE", f"memory://{tmp_path.name}")
    for name in ("one", "two"):
        cache = open_cache(tmp_path / name)
        assert cache is not None
        assert cache.fetch(KEY, build if name == "one" else never).files == FILES
    monkeypatch.setenv("DSLC_SHARED_CACHE_WRITE", "maybe")
    assert failure(lambda: open_cache(tmp_path / "three")).code == "DSL0916"


@pytest.mark.parametrize(
    ("url", "reason"),
    [("nosuch://x", "nosuch"), ("s3://bucket/x", "s3"), ("https://x/y", "aiohttp")],
)
def test_a_store_that_cannot_be_used_is_noted_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, reason: str
) -> None:
    """Without its package, or of a kind that there is not: a build never fails for it."""
    for module in ("s3fs", "aiohttp", "fsspec.implementations.http"):
        monkeypatch.setitem(sys.modules, module, None)
    notes: list[str] = []
    cache = Cache(tmp_path / "cache", notes.append, SharedCache(url))
    assert cache.fetch(KEY, build).files == FILES
    assert cache.fetch("ab" * 32, build).files == FILES
    assert len(notes) == 1
    assert reason in notes[0]


@pytest.mark.parametrize(("secret", "count"), [(b"", 1), (b"known", 0)])
def test_http_without_a_secret_warns(
    monkeypatch: pytest.MonkeyPatch, secret: bytes, count: int
) -> None:
    store = fsspec.filesystem("memory")
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda url: (store, "/plain"))
    notes: list[str] = []
    shared = SharedCache("http://host/kernels", secret=secret)
    assert shared.get(KEY, notes.append) is None
    assert shared.get(KEY, notes.append) is None
    assert len(notes) == count
    assert all("DSLC_SHARED_CACHE_SECRET" in note for note in notes)


def test_a_store_that_is_only_readable_is_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a web server: what cannot be put there does not keep us from what lies there."""
    notes: list[str] = []
    machine(tmp_path, "first", notes.append).fetch(KEY, build)
    shared = SharedCache(f"file://{tmp_path}/shared")

    def refuse(*args: object, **options: object) -> None:
        raise PermissionError("405")

    monkeypatch.setattr(shared._files, "pipe_file", refuse)
    cache = Cache(tmp_path / "second", notes.append, shared)
    cache.fetch("ab" * 32, build)
    assert cache.fetch(KEY, never).files == FILES
    assert len(notes) == 1
    assert "only read" in notes[0]


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9.]{0,8}", fullmatch=True), st.binary(max_size=40), max_size=4
    ),
    st.binary(max_size=8),
)
def test_an_entry_comes_out_as_it_went_in(files: dict[str, bytes], secret: bytes) -> None:
    files = {n: c for n, c in files.items() if n not in ("manifest.json", "index.json")}
    assert unseal(KEY, seal(KEY, files, MANIFEST, secret), secret) == (files, MANIFEST)


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_refused(content: bytes, framed: bool) -> None:
    import hashlib

    body = (b"dslc entry 1\n" if framed else b"") + content
    with pytest.raises(CorruptEntryError):
        unseal(KEY, body + hashlib.sha256(body).digest())
