from __future__ import annotations

from pathlib import Path

import pytest
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError
from dslc.frontend import read_source


def failure(path: str | Path, **options: int) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        read_source(path, **options)
    (found,) = caught.value.diagnostics
    return found


def test_utf8_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tile"
    path.write_bytes("const é = 1\r\n".encode())
    assert read_source(path) == "const é = 1\r\n"


def test_the_first_byte_that_is_not_utf8_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.tile"
    path.write_bytes("const a = 1\né = ".encode() + b"\xff\n")
    found = failure(path)
    assert (found.code, found.message) == ("DSL0002", "byte 0xff is not UTF-8")
    assert found.loc
    assert (found.loc.line, found.loc.col) == (2, 5)


def test_a_file_at_the_limit_is_read_and_one_above_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.tile"
    path.write_text("#" * 10)
    assert read_source(path, limit=10) == "#" * 10
    assert failure(path, limit=9).code == "DSL0001"


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.tile"
    with path.open("wb") as stream:
        stream.truncate(100 << 30)  # sparse: reading it would take minutes
    assert failure(path).code == "DSL0001"


def test_what_is_no_file_is_an_error(tmp_path: Path) -> None:
    assert "No such file" in failure(tmp_path / "missing.tile").message
    assert "directory" in failure(tmp_path).message
    assert failure("a\0b").code == "DSL0003"
