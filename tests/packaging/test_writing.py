"""The tree of a package on disk: whole or not at all, whoever else writes it, whatever died before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.packaging.writing import write_tree


def tree(name: str) -> dict[str, bytes]:
    """A folder with the name of its writer in every file."""
    return {f: name.encode() for f in ("package.json", "a/b", "a/c")}


def contents(folder: Path) -> set[bytes]:
    return {p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_a_process_that_died_left_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "k.dslc"
    write_tree(path, tree("first"))
    for left in (".k.dslc.old", ".k.dslc.0123.old"):
        (tmp_path / left / "a").mkdir(parents=True)
    write_tree(path, tree("second"))
    assert contents(path) == {b"second"}


def test_writers_side_by_side_leave_one_of_their_packages(tmp_path: Path) -> None:
    path = tmp_path / "k.dslc"

    def write(number: int) -> None:
        for turn in range(6):
            write_tree(path, tree(f"{number} {turn}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(contents(path)) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["k.dslc"]


def test_a_package_that_cannot_be_put_in_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.dslc"
    write_tree(path, tree("first"))
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if target == path and not self.name.endswith(".old"):
            raise OSError(5, "the disk is broken")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(DiagnosticError, match=r"DSL0831.*the disk is broken"):
        write_tree(path, tree("second"))
    assert contents(path) == {b"first"}
    assert [p.name for p in tmp_path.iterdir()] == ["k.dslc"]


def test_the_working_folder_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError, match="DSL0831"):
        write_tree(Path(), tree("x"))
    assert tmp_path.is_dir()
