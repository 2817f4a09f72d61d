"""dslc package, list, verify, lock and sign, as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.cli.main import run

from support.packages import write_spec


@pytest.fixture
def built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_spec(tmp_path, ["interp"])
    assert run(["package", "rows.toml", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("rows.dslc: rows 1.2.0, 2 kernels for interp, 4 specialisations in ")
    return tmp_path / "rows.dslc"


def test_a_second_run_has_nothing_to_do(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["package", "rows.toml"]) == 0
    assert "nothing has changed" in capsys.readouterr().out


def test_what_is_in_it(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "rows.dslc"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("rows 1.2.0, 8 files")
    assert lines[-1].split() == ["weigh", "interp", "2", "ir"]
    assert run(["list", "rows.dslc", "-k", "scale"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("scale(x: f32[M, N], by: f32, y: out f32[M, N])\ny = x * by.")
    assert "N=16" in page
    assert run(["list", "rows.dslc", "-k", "scal"]) == 2
    assert "did you mean" in capsys.readouterr().err


def test_it_is_verified_pinned_and_signed(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "rows.dslc"]) == 0
    assert "nobody vouches for it" in capsys.readouterr().out
    assert run(["lock", "rows.dslc"]) == 0
    assert run(["verify", "rows.dslc", "--lock", "dslc.lock"]) == 0
    assert run(["verify", "rows.dslc", "--require-native", "cuda:sm_80"]) == 4
    assert "DSL0834" in capsys.readouterr().err
    pytest.importorskip("cryptography", reason="signatures need it")
    assert run(["sign", "--new-key", "k"]) == 0
    assert run(["verify", "rows.dslc", "--key", "k.pub"]) == 4
    assert run(["sign", "rows.dslc", "--key", "k"]) == 0
    assert run(["verify", "rows.dslc", "--key", "k.pub", "--lock", "dslc.lock"]) == 0
    assert "pinned in dslc.lock, signed by k.pub" in capsys.readouterr().out
    assert run(["sign", "rows.dslc"]) == 2


def test_damage_is_listed_file_by_file(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in built.rglob("program.ir"):
        file.write_bytes(file.read_bytes() + b" ")
    (built / "extra").write_text("x")
    assert run(["verify", "rows.dslc"]) == 4
    assert len(capsys.readouterr().out.splitlines()) == 5
    for argv in (["lock", "rows.dslc"], ["sign", "rows.dslc", "--key", "k"]):
        assert run(argv) == 4


def test_a_wheel_beside_it(built: Path) -> None:
    assert run(["package", "rows.toml", "--wheel", "dist"]) == 0
    assert (built.parent / "dist" / "rows-1.2.0-py3-none-any.whl").is_file()
