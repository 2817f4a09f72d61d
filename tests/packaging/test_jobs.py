"""Job files: what they run is what the commands know."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from dslc.cli.main import run

from support.packages import write_spec


@pytest.mark.parametrize("system", ["github", "gitlab"])
def test_a_job_runs_commands_that_work(
    tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    write_spec(tmp_path, ["interp"])
    assert run(["ci", system, "rows.toml", "-o", "jobs/kernels.yml"]) == 0
    text = (tmp_path / "jobs" / "kernels.yml").read_text()
    assert "\t" not in text
    commands = re.findall(r"dslc (?:package|verify|lock) .*", text)
    assert len(commands) == 3
    for line in commands:
        assert run([*shlex.split(line)[1:], "-q"]) == 0
    assert (tmp_path / "build" / "dslc.lock").is_file()
    assert "--require-native interp" in text
    capsys.readouterr()
    assert run(["ci", system, "rows.toml", "-o", "jobs/kernels.yml"]) == 2
    assert "exists" in capsys.readouterr().err


def test_the_extras_are_those_of_the_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path, ["cuda:sm_80", "aarch64:all", "hip:gfx950", "nki:trn2"])
    assert run(["ci", "gitlab", str(spec)]) == 0
    assert "pip install 'dslc[aarch64,cuda,hip]==" in capsys.readouterr().out


@pytest.mark.parametrize("system", ["github", "gitlab"])
def test_a_path_is_one_word_whatever_it_holds(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a b: $(touch x) ${{ github.token }} 'c' \"d\" # e.toml"
    write_spec(tmp_path, ["interp"]).rename(tmp_path / name)
    assert run(["ci", system, name, "-o", "kernels.yml"]) == 0
    text = (tmp_path / "kernels.yml").read_text()
    assert "${{ github.token" not in text
    line = next(line for line in text.splitlines() if "dslc package" in line)
    command = json.loads(line.strip().removeprefix("- ").removeprefix("run: "))
    assert shlex.split(command) == ["dslc", "package", name, "-o", "build/rows.dslc"]


def test_actions_are_named_by_their_commits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ci", "github", str(write_spec(tmp_path, ["interp"]))]) == 0
    used = re.findall(r"uses: (\S+)", capsys.readouterr().out)
    assert len(used) == 5
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used)


@pytest.mark.parametrize(
    "source",
    [".", "dist/dslc-1.whl", "dslc==2.0"],
)
def test_where_dslc_comes_from(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path, ["cuda:sm_80"])
    assert run(["ci", "gitlab", str(spec), "--dslc", source]) == 0
    line = next(row for row in capsys.readouterr().out.splitlines() if "pip install" in row)
    command = json.loads(line.strip().removeprefix("- "))
    name, comparison, version = source.partition("==")
    assert shlex.split(command) == ["pip", "install", f"{name}[cuda]{comparison}{version}"]


def test_paths_begin_at_the_top_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    write_spec(tmp_path / "kernels", ["interp"])
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert run(["ci", "gitlab", "../kernels/rows.toml"]) == 0
    text = capsys.readouterr().out
    assert "dslc package kernels/rows.toml" in text
    assert "dslc check kernels/" in text
