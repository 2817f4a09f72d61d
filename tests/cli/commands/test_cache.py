"""`dslc cache`: look, verify, prune, clear."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.runtime.cache import Cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    return Cache(tmp_path / "cache")


def fill(cache: Cache, count: int) -> list[str]:
    keys = [f"{i:064x}"[::-1] for i in range(1, count + 1)]
    for i, key in enumerate(keys):
        manifest = {"name": f"kernel{i}", "target": "interp"}
        cache.put(key, {"program.ir": b"x" * 100 * (i + 1)}, manifest)
    return keys


def flip(cache: Cache, key: str) -> None:
    (entry,) = (e for e in cache.ls() if e.key == key)
    file = entry.path / "program.ir"
    data = bytearray(file.read_bytes())
    data[5] ^= 1
    file.chmod(0o600)
    file.write_bytes(bytes(data))


def test_an_empty_cache(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cache", "dir"]) == 0
    assert capsys.readouterr().out.strip() == str(cache.root)
    for action in (["ls"], ["verify"], ["prune"], ["clear"]):
        assert run(["cache", *action]) == 0
    assert "empty" in capsys.readouterr().out


def test_ls_and_show(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    keys = fill(cache, 3)
    assert run(["cache", "ls"]) == 0
    out = capsys.readouterr().out
    for i, key in enumerate(keys):
        assert key[:12] in out
        assert f"kernel{i}" in out
    assert run(["cache", "show", keys[1][:4]]) == 0
    out = capsys.readouterr().out
    assert "kernel1" in out
    assert "program.ir" in out
    assert json.loads(out[out.index("{") : out.rindex("}") + 1])["target"] == "interp"
    assert run(["cache", "show", "zz"]) == 2


def test_verify_finds_a_flipped_bit(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    keys = fill(cache, 3)
    assert run(["cache", "verify"]) == 0
    flip(cache, keys[1])
    capsys.readouterr()
    assert run(["cache", "verify"]) == 4
    out = capsys.readouterr().out
    assert keys[1][:12] in out
    assert keys[0][:12] not in out
    assert "2 of 3" in out
    assert run(["cache", "show", keys[1][:6]]) == 2


def test_prune_takes_the_damaged_then_the_old_and_the_large(
    cache: Cache, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = fill(cache, 4)
    flip(cache, keys[0])
    assert run(["cache", "prune"]) == 0
    assert {e.key for e in cache.ls()} == set(keys[1:])
    assert run(["cache", "prune", "--older-than", "1d"]) == 0
    assert len(cache.ls()) == 3
    assert run(["cache", "prune", "--max-size", "1K"]) == 0
    assert sum(e.size for e in cache.ls()) <= 1024
    assert run(["cache", "prune", "--older-than", "0s"]) == 0
    assert cache.ls() == []


@pytest.mark.parametrize("value", ["", "x", "5 potatoes", "-1M", "1MB2"])
def test_amounts_that_are_none(
    value: str, cache: Cache, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cache", "prune", "--max-size", value]) == 2


def test_clear_asks(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(cache, 2)
    with open("/dev/null") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert run(["cache", "clear"]) == 130
    assert len(cache.ls()) == 2
    assert run(["cache", "clear", "--yes"]) == 0
    assert cache.ls() == []
