"""Tables as programs read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.cli.tables.table import size_text

from support.packages import write_spec


def objects(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert run([*words, "--diagnostics", "json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_machines(capsys: pytest.CaptureFixture[str]) -> None:
    found = {o["target"]: o for o in objects(capsys, "targets")}
    assert found["cuda:sm_90a"]["warp"] == 32
    (one,) = objects(capsys, "targets", "cuda:sm_90a")
    assert {m["name"] for m in one["memories"]} >= {"shared", "register"}


def test_the_installation(capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(capsys, "doctor")
    assert all(set(o) == {"state", "what", "found or how to get it"} for o in found)
    assert {"dslc", "Python", "numpy"} <= {o["what"] for o in found}


def test_the_cache_and_a_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    assert objects(capsys, "cache", "ls") == []
    spec = write_spec(tmp_path, ["interp"])
    assert run(["package", str(spec), "-o", str(tmp_path / "p"), "-q"]) == 0
    capsys.readouterr()
    entries = objects(capsys, "cache", "ls")
    assert entries
    assert all(isinstance(o["size"], int) for o in entries)
    (package,) = objects(capsys, "list", str(tmp_path / "p"))
    assert package["digest"]
    assert isinstance(package["size"], int)
    kernel = package["kernels"][0]["kernel"]
    assert all("choices" in o for o in objects(capsys, "list", str(tmp_path / "p"), "-k", kernel))


def test_a_size_is_text_and_number() -> None:
    assert (size_text(1536), size_text(1536).bytes) == ("1.5 KiB", 1536)


def test_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[3] / "examples" / "rmsnorm.tile"
    words = ("inspect", str(example), "-t", "cuda:sm_90a", "--dim", "M=64", "--dim", "H=256")
    (found,) = objects(capsys, *words)
    assert found["dims"] == {"M": 64, "H": 256}
    assert found["choices"].keys() == {"BM"}
    assert found["prediction"]["seconds"] > 0
    assert found["work"]["stored"] == {"y": 64 * 256 * 2}
    assert found["stages"][0] == {"stage": "ir", "statements": 17, "checked axes": 5, "axes": 5}
    assert "registers" in found["machine"]["thread"]
