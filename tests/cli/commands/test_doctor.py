"""`dslc doctor`, `targets` and `explain`: what they say of this installation."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.cli.commands import doctor
from dslc.cli.main import run
from dslc.compiler.diagnostics.catalogue import entries
from dslc.compiler.targets import TARGETS


def test_a_sound_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    for subject in ("dslc", "Python", "cache", "nvcc"):
        assert subject in out


def test_a_missing_requirement_is_exit_code_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    wanted = ["numpy>=1", "not-there-at-all>=2", "absent-too>=1; extra == 'cuda'"]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda name: wanted)
    assert run(["doctor"]) == 3
    out = capsys.readouterr().out
    assert "pip install not-there-at-all" in out
    assert "pip install 'dslc[cuda]'" in out


def test_a_tool_in_path_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = tmp_path / "qemu-aarch64-static"
    tool.write_text("")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    assert run(["doctor"]) == 0
    assert str(tool) in capsys.readouterr().out


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["targets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(TARGETS) + 1
    assert lines[1].split()[:2] == ["interp", "yes"]
    for name in TARGETS:
        assert run(["targets", name]) == 0
        assert name in capsys.readouterr().out
    assert run(["targets", "cuda:sm_99"]) == 2


@pytest.mark.parametrize("code", ["DSL0910", "dsl0910", "910", "0910"])
def test_explain(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", code]) == 0
    assert capsys.readouterr().out.startswith("DSL0910: ")


def test_an_explanation_is_filled_and_its_examples_stand_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["explain", "DSL0230"]) == 0
    *prose, last = capsys.readouterr().out.splitlines()[2:]
    assert all(len(line) > 80 for line in prose), prose
    assert last
    assert run(["explain", "DSL0404"]) == 0
    assert "\nWrong: " in capsys.readouterr().out


def test_explain_lists_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(code in out for code in entries())


def test_explain_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "DSL9999"]) == 2
    assert run(["explain", "DSL0911", "--list"]) == 2
