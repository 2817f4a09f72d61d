"""Tables and progress: plain where a program reads them, drawn on a terminal."""

from __future__ import annotations

import sys

import pytest
from dslc.cli import progress
from dslc.cli.main import run
from dslc.cli.progress import shown_progress
from dslc.cli.session import Session
from dslc.cli.tables import table


def test_plain_tables_align() -> None:
    text = table.plain_table(("name", "count"), [("a", "1"), ("long name", "100")], right=(1,))
    assert text == "name       count\na              1\nlong name    100"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 40, "5.0 TiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert table.size_text(count) == text


def test_a_terminal_gets_a_drawn_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["targets"]) == 0
    assert "─" in capsys.readouterr().out


def test_no_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "current", Session)
    with shown_progress("kernel") as advance:
        assert advance is None


def test_progress_appears_only_when_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "current", Session)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with shown_progress("kernel") as advance:
        assert advance is not None
        advance(1, 10)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    with shown_progress("kernel") as advance:
        assert advance is not None
        advance(1, 10)
        advance(10, 10)
