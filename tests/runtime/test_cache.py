"""The cache: whole entries only, whatever happens to them and however many processes write."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cache import Cache, CacheWarning

KEY = sha256(b"a key").hexdigest()
OTHER = sha256(b"another").hexdigest()
FILES = {"kernel.ir": b"kernel k() {}\n", "kernel.bin": bytes(range(256)) * 8, "empty": b""}
INFO = {"name": "k", "sizes": [1, 2, 3], "deep": {"x": None}}


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, notes: list[str]) -> Cache:
    return Cache(tmp_path / "cache", notes.append)


def code_of(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return caught.value.diagnostics[0].code


def test_an_entry_comes_back_as_it_was_put(cache: Cache, notes: list[str]) -> None:
    assert cache.get(KEY) is None
    put = cache.put(KEY, FILES, INFO)
    got = cache.get(KEY)
    assert got is not None
    assert got == put
    assert (got.files, got.manifest) == (FILES, INFO)
    assert (got.path / "kernel.bin").read_bytes() == FILES["kernel.bin"]
    assert cache.get(OTHER) is None
    assert notes == []


def test_folders_are_the_users_alone(cache: Cache) -> None:
    entry = cache.put(KEY, FILES, INFO)
    for folder in (entry.path, entry.path.parent, cache.root, cache.root / "v1"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert (entry.path / "kernel.bin").stat().st_mode & 0o777 == 0o600


def test_nothing_is_left_in_staging(cache: Cache) -> None:
    cache.put(KEY, FILES, INFO)
    cache.put(KEY, FILES, INFO)
    cache.fetch(OTHER, lambda: (FILES, INFO))
    cache.remove(KEY)
    assert list((cache.root / "v1/staging").iterdir()) == []
    assert list((cache.root / "v1/locks").iterdir()) == []


def test_the_first_entry_of_a_key_stays(cache: Cache) -> None:
    cache.put(KEY, FILES, INFO)
    again = cache.put(KEY, {"kernel.ir": b"other"}, {})
    assert again.files == FILES
    assert len(cache.ls()) == 1


@pytest.mark.parametrize("name", [*FILES, "manifest.json", "index.json"])
def test_a_flipped_bit_anywhere_is_refused_and_rebuilt(
    cache: Cache, notes: list[str], name: str
) -> None:
    path = cache.put(KEY, FILES, INFO).path / name
    original = path.read_bytes()
    places = range(len(original)) if len(original) < 600 else range(0, len(original), 97)
    for place in places:
        for bit in (0, 5):
            content = bytearray(original)
            content[place] ^= 1 << bit
            path.write_bytes(bytes(content))
            assert cache.get(KEY) is None, (place, bit)
            assert KEY in cache.verify()
    assert len(notes) == 2 * len(places)
    assert all(KEY[:12] in note for note in notes)
    if original:
        assert cache.fetch(KEY, lambda: (FILES, INFO)).files == FILES
    assert cache.verify() == {}


def truncate(folder: Path) -> None:
    (folder / "kernel.bin").write_bytes(FILES["kernel.bin"][:-1])


def lengthen(folder: Path) -> None:
    (folder / "kernel.bin").write_bytes(FILES["kernel.bin"] + b"\0")


def lose(folder: Path) -> None:
    (folder / "empty").unlink()


def lose_index(folder: Path) -> None:
    (folder / "index.json").unlink()


def add(folder: Path) -> None:
    (folder / "libextra.so").write_bytes(b"")


def link(folder: Path) -> None:
    (folder.parent / "elsewhere").write_bytes(FILES["kernel.bin"])
    (folder / "kernel.bin").unlink()
    (folder / "kernel.bin").symlink_to(folder.parent / "elsewhere")


def pipe(folder: Path) -> None:
    (folder / "kernel.bin").unlink()
    os.mkfifo(folder / "kernel.bin")


def subfolder(folder: Path) -> None:
    (folder / "kernel.bin").unlink()
    (folder / "kernel.bin").mkdir()


def linked_entry(folder: Path) -> None:
    folder.rename(folder.parent / "moved")
    folder.symlink_to(folder.parent / "moved")


def file_entry(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"not a folder")


def of_another_key(folder: Path) -> None:
    index = folder / "index.json"
    index.write_text(index.read_text().replace(KEY, OTHER))


def escape(folder: Path) -> None:
    index = json.loads((folder / "index.json").read_text())
    index["files"]["../../../../escape"] = {"size": 0, "sha256": sha256(b"").hexdigest()}
    (folder / "index.json").write_text(json.dumps(index, sort_keys=True, indent=1) + "\n")


def resize(folder: Path, size: object) -> None:
    index = json.loads((folder / "index.json").read_text())
    index["files"]["kernel.bin"]["size"] = size
    (folder / "index.json").write_text(json.dumps(index, sort_keys=True, indent=1) + "\n")


def shrink_below_nothing(folder: Path) -> None:
    resize(folder, -5)


def outgrow_memory(folder: Path) -> None:
    resize(folder, 1 << 60)


def outgrow_words(folder: Path) -> None:
    resize(folder, 10**30)


def deep(folder: Path) -> None:
    (folder / "index.json").write_text("[" * 100_000)


DAMAGE = [
    truncate, lengthen, lose, lose_index, add, link, pipe, subfolder, linked_entry, file_entry,
    of_another_key, escape, shrink_below_nothing, outgrow_memory, outgrow_words, deep,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_refused_and_rebuilt(cache: Cache, notes: list[str], damage) -> None:
    damage(cache.put(KEY, FILES, INFO).path)
    assert cache.get(KEY) is None
    assert len(notes) == 1
    assert KEY[:12] in notes[0]
    assert list(cache.verify()) == [KEY]
    assert cache.put(KEY, FILES, INFO).files == FILES
    assert cache.get(KEY) is not None
    assert cache.verify() == {}


def test_a_refused_entry_warns_by_default(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    truncate(cache.put(KEY, FILES, INFO).path)
    with pytest.warns(CacheWarning, match=r"is not used: kernel.bin has other bytes"):
        assert cache.get(KEY) is None


def test_fetch_builds_once(cache: Cache) -> None:
    built = []

    def build() -> tuple[dict[str, bytes], dict[str, object]]:
        built.append(1)
        return FILES, INFO

    assert cache.fetch(KEY, build) == cache.fetch(KEY, build)
    assert len(built) == 1


def test_threads_build_a_key_once(cache: Cache) -> None:
    built = []

    def build() -> tuple[dict[str, bytes], dict[str, object]]:
        built.append(1)
        time.sleep(0.05)
        return FILES, INFO

    threads = [threading.Thread(target=cache.fetch, args=(KEY, build)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


def test_a_fetch_within_a_fetch(cache: Cache) -> None:
    def outer() -> tuple[dict[str, bytes], dict[str, object]]:
        return cache.fetch(OTHER, lambda: (FILES, INFO)).files, INFO

    assert cache.fetch(KEY, outer).files == FILES


def test_a_failing_build_leaves_nothing(cache: Cache) -> None:
    def fail() -> tuple[dict[str, bytes], dict[str, object]]:
        raise RuntimeError("no toolchain")

    with pytest.raises(RuntimeError):
        cache.fetch(KEY, fail)
    assert cache.get(KEY) is None
    assert cache.fetch(KEY, lambda: (FILES, INFO)).files == FILES


def test_ls_and_prune_know_what_was_used_last(cache: Cache) -> None:
    keys = [sha256(bytes([i])).hexdigest() for i in range(4)]
    for age, key in enumerate(keys):
        path = cache.put(key, FILES, INFO).path
        os.utime(path, (time.time() - 1000 * age,) * 2)
    assert [e.key for e in cache.ls()] == keys
    assert cache.get(keys[3]) is not None  # used now
    assert [e.key for e in cache.ls()] == [keys[3], *keys[:3]]
    assert [e.key for e in cache.prune(older_than=1500)] == [keys[2]]
    size = cache.ls()[0].size
    assert size == sum(f.stat().st_size for f in cache.ls()[0].path.iterdir())
    assert [e.key for e in cache.prune(max_bytes=2 * size)] == [keys[1]]
    assert cache.prune(max_bytes=2 * size) == []
    assert cache.clear() == 2
    assert cache.ls() == []


def test_an_empty_cache_is_no_error(cache: Cache) -> None:
    assert cache.ls() == []
    assert cache.verify() == {}
    assert cache.prune(max_bytes=0) == []
    assert cache.clear() == 0
    assert cache.remove(KEY) is False
    assert not cache.root.exists()


def test_stale_staging_folders_are_swept(cache: Cache) -> None:
    cache.put(KEY, FILES, INFO)
    stale, fresh = (cache.root / "v1/staging" / name for name in ("stale", "fresh"))
    for folder in (stale, fresh):
        folder.mkdir()
        (folder / "half").write_bytes(b"x")
    os.utime(stale, (0, 0))
    cache.prune()
    assert not stale.exists()
    assert fresh.exists()


def test_a_folder_that_others_can_write_is_refused(cache: Cache) -> None:
    cache.put(KEY, FILES, INFO)
    (cache.root / "v1").chmod(0o770)
    for use in (lambda: cache.get(KEY), lambda: cache.put(OTHER, FILES, INFO)):
        with pytest.raises(DiagnosticError, match="can be written by others") as caught:
            use()
        assert code_of(caught) == "DSL0820"


def test_a_root_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache", lambda note: None)
    assert cache.get(KEY) is None
    for use in (
        lambda: cache.put(KEY, FILES, INFO),
        lambda: cache.fetch(KEY, lambda: (FILES, INFO)),
    ):
        with pytest.raises(DiagnosticError, match="cannot be written: Not a directory") as caught:
            use()
        assert code_of(caught) == "DSL0821"


@pytest.mark.parametrize("key", ["", "..", "abc", "../" + KEY[3:], KEY.upper(), KEY + "0"])
def test_a_key_is_a_hash(cache: Cache, key: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        cache.get(key)
    assert code_of(caught) == "DSL0822"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "manifest.json", "index.json"])
def test_file_names_are_plain(cache: Cache, name: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        cache.put(KEY, {name: b""}, {})
    assert code_of(caught) == "DSL0803"
    assert cache.ls() == []


WORKER = """
import json, sys, time
from hashlib import sha256
from dslc.runtime.cache import Cache

root, me, start = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
notes = []
cache = Cache(root, notes.append)
time.sleep(max(0.0, start - time.time()))
for turn in range(12):
    key = sha256(bytes([turn % 3])).hexdigest()
    content = bytes([turn % 3]) * 50_000
    if me % 4 == 3:
        cache.remove(key)
    elif me % 4 == 2:
        cache.put(key, {"data": content}, {"turn": turn % 3})
    entry = cache.fetch(key, lambda: ({"data": content}, {"turn": turn % 3}))
    assert entry.files == {"data": content}, (me, turn)
    assert entry.manifest == {"turn": turn % 3}
print(json.dumps(notes))
"""


def test_sixteen_processes_leave_no_torn_entry(tmp_path: Path) -> None:
    root, start = tmp_path / "cache", str(time.time() + 1.0)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(root), str(me), start],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for me in range(16)
    ]
    for worker in workers:
        out, problems = worker.communicate(timeout=110)
        assert worker.returncode == 0, problems
        assert json.loads(out) == []  # nobody ever saw half an entry
    cache = Cache(root)
    assert cache.verify() == {}
    assert len(cache.ls()) <= 3
    assert list((root / "v1/staging").iterdir()) == []


def test_a_damaged_entry_is_noted_once_where_it_is_fetched(cache: Cache, notes: list[str]) -> None:
    entry = cache.put(KEY, FILES, INFO)
    (entry.path / next(iter(FILES))).write_bytes(b"other")
    again = cache.fetch(KEY, lambda: (FILES, INFO))
    assert again.files == FILES
    assert len(notes) == 1
