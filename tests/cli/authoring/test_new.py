"""`dslc new`: what it writes runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from dslc.cli.main import run


def test_what_it_writes_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", "scaled_rows", "--in", str(tmp_path)]) == 0
    folder = tmp_path / "scaled_rows"
    source = str(folder / "scaled_rows.tile")
    assert sorted(p.name for p in folder.iterdir()) == [
        "scaled_rows.tile",
        "scaled_rows.toml",
        "test_scaled_rows.py",
    ]
    assert run(["check", source]) == 0
    assert run(["fmt", "--check", source]) == 0
    assert run(["run", source, "--dim", "M=5", "--dim", "N=300", "--target", "interp"]) == 0
    # Its test in a process of its own: it is a test of the user's.
    tested = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            str(folder),
        ],
        env={"PATH": "", "DSLC_TARGET": "interp", "DSLC_CACHE_DIR": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    assert "9 passed" in tested.stdout
    capsys.readouterr()


def test_its_package_is_built_and_loaded(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    import dslc

    assert run(["new", "scaled_rows", "--in", str(tmp_path)]) == 0
    spec, package = tmp_path / "scaled_rows" / "scaled_rows.toml", tmp_path / "package"
    assert run(["package", str(spec), "-o", str(package), "-j", "1"]) == 0
    assert list(dslc.load(package)) == ["scaled_rows"]


@pytest.mark.parametrize("name", ["two-words", "3d", "kernel", "for", ""])
def test_a_name_that_no_kernel_can_have(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", name, "--in", str(tmp_path)]) == 2
    assert "DSL0923" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.toml").write_text("[package]\n")
    assert run(["new", "mine", "--in", str(tmp_path)]) == 2
    assert "DSL0923" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["mine.toml"]
